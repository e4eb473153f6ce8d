"""A check in a fork of this process, while this one goes on.

It is for a process that does nothing else, as that of the command line: a fork has the memory of its parent, but none of its threads, and what
these hold at that moment is never given back there.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import threading
import traceback

import torch

from .. import errors, interrupts

PR_SET_PDEATHSIG = 1


class RemoteTraceback(Exception):
    """Where an error of the fork came from: the cause of the one that is raised here."""


class ForkedCheck:
    """Runs `function`, which returns nothing, in a fork: it sees the model as it is now, and what it changes is not changed here. Where a fork is not
    safe or gains nothing, it runs at once.

    function    raises an `Error` if something is wrong, which `wait` raises here
    """

    def __init__(self, function):
        self.process, self.reader, self.said = None, None, b""
        try:
            if not is_worth_it() or not self._fork(function):
                function()
        except BaseException:  # also an interrupt that came while it forked
            self.close()
            raise

    def _fork(self, function):
        """Whether there is a child now. Signals wait meanwhile: nothing may be raised in the child but by `function`."""
        parent = os.getpid()
        with interrupts.blocked():
            try:
                reader, writer = os.pipe()
            except OSError:  # no descriptor is left
                return False
            try:
                process = os.fork()
            except OSError:  # no memory for another process
                os.close(reader)
                os.close(writer)
                return False
            if process == 0:
                _run(function, writer, parent)
            os.close(writer)
            self.process, self.reader = process, open(reader, "rb", buffering=0)
            return True

    def has_failed(self):
        """Whether it is known by now that `wait` will raise. Never raises."""
        return self.process is not None and self._has_ended(0) and self.said != b"{}\n"

    def wait(self, is_pointless=lambda: False):
        """Returns when the check has passed, or when it `is_pointless` to wait; raises what it raised."""
        while self.process is not None and not self._has_ended(100):
            if is_pointless():
                return
        if self.process is None:
            return
        message, status = self.said, self._end()
        if message == b"{}\n":
            return
        if not message.endswith(b"\n"):
            code = os.waitstatus_to_exitcode(status)
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            memory = ", possibly for lack of memory" if code == -signal.SIGKILL else ""
            raise errors.Error(f"the process that compares the exported graph with the model {how}{memory}; nothing was written")
        told = json.loads(message)
        raise getattr(errors, told["kind"], errors.Error)(told["text"]) from RemoteTraceback(told["traceback"])

    def close(self):
        """Ends the check; its result is not needed."""
        if self.process is not None:
            os.kill(self.process, signal.SIGKILL)  # it is ours until it is waited for
            self._end()

    def _has_ended(self, milliseconds):
        """Whether the child has said all that it will say, now or within that time."""
        poller = select.poll()
        poller.register(self.reader, select.POLLIN)
        while not self.said.endswith(b"\n") and poller.poll(milliseconds):
            more = self.reader.read(1 << 16)
            if not more:
                return True
            self.said += more
        return self.said.endswith(b"\n")

    def _end(self):
        _, status = os.waitpid(self.process, 0)
        self.process = None
        self.reader.close()
        return status


def is_worth_it():
    """Whether there is a second core, nothing that a fork would break, and little enough work for one thread."""
    return (
        hasattr(os, "sched_getaffinity")
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
        and signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
        and torch.get_num_threads() == 1
        and not torch.cuda.is_initialized()
    )


def _run(function, writer, parent):
    """The child. It never returns, leaves what the parent has buffered alone, and lets the parent decide what signals mean."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(code)
        try:
            function()
            told = {}
        except errors.Error as error:
            told = {"kind": type(error).__name__, "text": str(error), "traceback": traceback.format_exc()}
        with contextlib.suppress(BrokenPipeError), open(writer, "wb", buffering=0) as file:
            file.write(json.dumps(told).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
