"""The standard streams of the command line."""

import contextlib
import os
import sys
import unicodedata


def fill_gaps():
    """Open the device of nothing where a standard stream is closed.

    The next file would get its number, and libraries print into it: warnings of PyTorch would stand in what is written.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def printable(text):
    """`text` with its control characters written out: names in files neither move a cursor nor begin a line."""
    hidden = ("Cc", "Cf", "Zl", "Zp")
    return "".join(ascii(c)[1:-1] if unicodedata.category(c) in hidden else c for c in text)


def say(line):
    """Print a line on standard error. What goes wrong there has nobody to hear of it, and stops no work."""
    if sys.stderr is not None:  # which a closed one is: print() would take standard output
        with contextlib.suppress(OSError):
            print(printable(line), file=sys.stderr, flush=True)
