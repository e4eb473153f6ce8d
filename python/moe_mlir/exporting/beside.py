"""A check in a process of its own, while this one goes on."""

import contextlib
import json
import os
import select
import signal
import warnings

import torch

from .. import errors


class Check:
    """Runs `function`, which returns nothing, in a fork of this process: it sees the model as it is now, and what it changes there is not changed
    here. Without a core or a system for that, it runs at once.

    function    raises an `Error` if something is wrong, which `wait` raises here
    """

    def __init__(self, function):
        self.process = None
        reader, writer = os.pipe()
        self.reader = open(reader, "rb", buffering=0)
        try:
            self.process = _fork() if _is_worth_it() else None
        except OSError:  # no memory for another process
            pass
        if self.process is None:
            os.close(writer)
            try:
                function()
            except BaseException:
                self.reader.close()
                raise
            return
        if self.process == 0:
            _run(function, writer)
        os.close(writer)

    def has_failed(self):
        """Whether it is known by now that `wait` will raise."""
        if self.process is None or not select.select([self.reader], [], [], 0)[0]:
            return False
        return self._message() != b"{}"

    def wait(self):
        """Returns when the check has passed; raises what it raised."""
        if self.process is None:
            return
        message, status = self._message(), self._end()
        if message == b"{}":
            return
        if not message:
            code = os.waitstatus_to_exitcode(status)
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            raise errors.Error(f"the process that compares the exported graph with the model {how}, perhaps for want of memory; nothing was written")
        told = json.loads(message)
        raise getattr(errors, told["kind"])(told["text"])

    def close(self):
        """Nobody wants to know any more."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            self._end()
        self.reader.close()

    def _end(self):
        """The status of the child; 0 where the caller ignores what becomes of its children."""
        status = 0
        with contextlib.suppress(ChildProcessError):
            _, status = os.waitpid(self.process, 0)
        self.process = None
        self.reader.close()
        return status

    def _message(self):
        """All that it says, once it has ended: `{}` if all is well, nothing if it could not say anything."""
        if not hasattr(self, "said"):
            self.said = self.reader.read()
        return self.said


def _is_worth_it():
    """CUDA does not work in a fork."""
    return hasattr(os, "fork") and len(os.sched_getaffinity(0)) > 1 and not torch.cuda.is_initialized()


def _fork():
    with warnings.catch_warnings():
        # Python warns of the threads of PyTorch, which are idle: the child uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run(function, writer):
    """The child. It never returns, and leaves what the parent has buffered alone."""
    code = 1
    with contextlib.suppress(BaseException):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        torch.set_num_threads(1)  # those of the parent are not here
        try:
            function()
            told = {}
        except errors.Error as error:
            told = {"kind": type(error).__name__, "text": str(error)}
        os.write(writer, json.dumps(told).encode())
        code = 0
    os._exit(code)
