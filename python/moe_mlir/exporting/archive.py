"""Writes the `.pt2` archive: it gets its name once it is complete, and a full disk is an error like any other."""

import contextlib
import io
import json
import os
import signal
import threading

import torch

from .. import interrupts
from ..errors import Error
from .unnamed import unnamed_file


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
    """Write `program` with `metadata` as `extra/moe_mlir.json`; the archive's top folder is `archive`. The file
    gets its name only after `check` has passed.

    An interrupt waits until no file is half written, and leaves none behind. One that comes when the file has its name is too
    late to end the command.
    """
    path = _target(path)
    held = _HeldSignals()
    try:
        with held, _os_errors(path), unnamed_file(path) as (file, give_name):
            sink = _Sink(file, lambda: held.received or check.has_failed())
            torch.export.save(program, sink, extra_files={"moe_mlir.json": json.dumps(metadata, indent=1)})
            if sink.error and not check.has_failed():
                raise sink.error
            check.wait(lambda: held.received)
            if not held.received:
                give_name()
                held.work_is_done()
    finally:
        if held.received:
            check.close()
            signal.raise_signal(held.received[0])


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


class _HeldSignals:
    """While it is entered, Ctrl-C and termination only add their numbers to `received`."""

    def __init__(self):
        self.received = []
        self.before = {}

    def work_is_done(self):
        """What was received, and what is still to come, does not end the command any more."""
        self.before = {number: interrupts.after_work(handler) for number, handler in self.before.items()}

    def __enter__(self):
        if threading.current_thread() is not threading.main_thread():
            return  # signals go to the main thread
        handled = [number for number in interrupts.SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        with interrupts.blocked():
            self.before = {number: signal.signal(number, self._receive) for number in handled}

    def __exit__(self, *_):
        with interrupts.blocked():
            for number, handler in self.before.items():
                signal.signal(number, handler)

    def _receive(self, number, frame):
        self.received.append(number)
