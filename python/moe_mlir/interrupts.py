"""How the command line ends, as a process of its own: by a signal, or because its work is done."""

import atexit
import contextlib
import os
import signal
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at_once():
    """Have Ctrl-C, SIGTERM and SIGHUP end the process where it is, with 128 + n, unless someone wants them ignored.

    Not by an exception: it would be lost where a library catches all of them, as imports and destructors do. Nothing
    has to be put back; who writes a file holds the signals off until it is there or is gone.
    """
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


@contextlib.contextmanager
def blocked():
    """Signals wait meanwhile, so that no handler raises where a part of something is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())  # by itself: a call that changes it may raise, too
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def after_work(handler):
    """What a signal does instead of `handler` once the work is done: it does not end the command any more. Programs that
    call the package have other handlers, and keep them.

    Not SIG_IGN: Python complains of a signal that comes just before that is set.
    """
    return _do_nothing if handler is _end else handler


def ignore():
    """An exit code that is decided stays as it is."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def leave(code):
    """End with this code; no signal changes it any more.

    What is registered for the end is done, and what was printed is out. PyTorch's modules, the graph and the weights are left to the system: to
    take them apart takes a second, and of a large model two.
    """
    ignore()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        sys.exit(code)  # Python has a message and a code for that
    os._exit(code)


def _do_nothing(number, frame):
    pass


def _end(number, frame):
    signal.signal(number, signal.SIG_IGN)  # a second one says it no second time
    os.write(2, b"interrupted\n")  # print() may be what was interrupted
    os._exit(128 + number)
