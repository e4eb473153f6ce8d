"""Files that get their name when they are complete."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path


@contextlib.contextmanager
def unnamed_file(path):
    """A file to write, and a function that gives it the name `path`, whatever has it now.

    Where the file system has files without a name, the system removes it if the process is killed. Elsewhere it stands in a
    hidden folder, which a process that is killed leaves behind.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_opened(path.parent, os.O_PATH | os.O_DIRECTORY))
        if _has_unnamed_files(path, folder):
            file = stack.enter_context(open(path, "wb", opener=lambda path, flags: _without_name(path)))

            def give_name():
                file.flush()
                _name(file.fileno(), path, folder)

        else:
            hidden = stack.enter_context(tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent))
            file = stack.enter_context(open(Path(hidden) / path.name, "wb"))

            def give_name():
                file.close()  # not before does every file system say that it is full
                os.replace(file.name, path)

        yield file, give_name


def _without_name(path):
    """Descriptor of a new file in the folder of `path`."""
    return os.open(os.path.dirname(path), os.O_WRONLY | os.O_TMPFILE, 0o666)


def _has_unnamed_files(path, folder):
    """Whether a file without a name can be made, and be given one: asked before minutes of work rest on it."""
    probe = _beside(path)
    try:
        with _opened(path.parent, os.O_WRONLY | os.O_TMPFILE) as descriptor:
            _link(descriptor, probe, folder)
    except OSError:
        return False
    os.unlink(probe)
    return True


def _name(descriptor, path, folder):
    """A link takes a name from no other file: this one gets a hidden name, and is renamed."""
    hidden = _beside(path)
    _link(descriptor, hidden, folder)
    try:
        os.replace(hidden, path)
    except OSError:
        os.unlink(hidden)
        raise


def _link(descriptor, path, folder):
    # With a folder for relative names, even if there is none, Python has the link of /proc followed.
    os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=folder, follow_symlinks=True)


def _beside(path):
    return path.parent / f".{path.name}.{secrets.token_hex(4)}"


@contextlib.contextmanager
def _opened(path, flags):
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
