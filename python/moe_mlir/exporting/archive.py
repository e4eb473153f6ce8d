"""Writes the `.pt2` archive: it gets its name once it is complete, and a full disk is an error like any other."""

import contextlib
import io
import json
import os
import signal
import tempfile
import threading
from pathlib import Path

import torch

from ..errors import Error


def check_output(path, inputs=()):
    """Raise `Error` unless `path` names a `.pt2` file that can be written, and is none of `inputs`, which are read."""
    if path.is_dir():
        raise Error(f"cannot write '{path}': it is a directory; give the name of a .pt2 file")
    if path.suffix != ".pt2":
        raise Error(f"cannot write '{path}': the name must end in .pt2")
    target = _target(path)
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise Error(f"cannot write '{path}': there is no directory '{folder}'")
    if path.exists():
        if not path.is_file():
            raise Error(f"cannot write '{path}': it is a device or pipe")
        for file in inputs:
            if os.path.samefile(path, file):
                raise Error(f"cannot write '{path}': it is the same file as '{file}', which is read; give another name")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise Error(f"cannot write '{path}': no file can be made in '{target.parent}'")


def save(program, path, metadata, check):
    """Write `program` with `metadata` as `extra/moe_mlir.json`; the archive's top folder is `archive`. The file is
    renamed into its place only after `check` has passed.

    An interrupt waits until no file is half written, and leaves none behind.
    """
    path = _target(path)
    received = []
    try:
        with _signals_held(received), _os_errors(path):
            with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
                temporary = Path(folder) / path.name
                with open(temporary, "wb") as file:
                    sink = _Sink(file, lambda: received or check.has_failed())
                    torch.export.save(program, sink, extra_files={"moe_mlir.json": json.dumps(metadata, indent=1)})
                    if sink.error and not check.has_failed():
                        raise sink.error
                check.wait(lambda: received)
                if not received:
                    os.replace(temporary, path)
    finally:
        if received:
            check.close()
            signal.raise_signal(received[0])


@contextlib.contextmanager
def _os_errors(path):
    try:
        yield
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror or error}") from error


class _Sink(io.RawIOBase):
    """Writable file for torch's archive writer, which aborts the process when a write fails: the error is kept.

    Once that `is_pointless` nothing is written any more.
    """

    def __init__(self, file, is_pointless):
        super().__init__()
        self.file = file
        self.is_pointless = is_pointless
        self.error = None

    def writable(self):
        return True

    def seekable(self):
        return True

    def write(self, data):
        if self.error is None and not self.is_pointless():
            try:
                self.file.write(data)
            except OSError as error:
                self.error = error
        return len(data)

    def seek(self, offset, whence=io.SEEK_SET):
        return self.file.seek(offset, whence)  # torch rewinds the file when it is complete


def _target(path):
    """The file that `path` names, links followed: renaming onto a link would replace the link."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise Error(f"cannot write '{path}': {getattr(error, 'strerror', None) or error}") from error


@contextlib.contextmanager
def _signals_held(received):
    """Ctrl-C and termination only add their numbers to `received`."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return
    before = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) not in (signal.SIG_IGN, None)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
