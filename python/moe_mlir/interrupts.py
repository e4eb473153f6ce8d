"""Signals that end the command line, as a process of its own."""

import os
import signal


def end_at_once():
    """Have Ctrl-C, SIGTERM and SIGHUP end the process where it is, with 128 + n, unless someone wants them ignored.

    Not by an exception: it would be lost where a library catches all of them, as imports and destructors do. Nothing
    has to be put back; who writes a file holds the signals off until it is there or is gone.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def ignore():
    """Work that is done cannot be interrupted any more."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _end(number, frame):
    signal.signal(number, signal.SIG_IGN)  # a second one says it no second time
    os.write(2, b"interrupted\n")  # print() may be what was interrupted
    os._exit(128 + number)
