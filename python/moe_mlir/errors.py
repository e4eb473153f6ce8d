"""Errors and warnings that a user can act on.

Every failure of this package that is not a bug is an `Error`: one message that says what is wrong, where, and what to
do. The command line prints the message alone and ends with `exit_code`.
"""


class Error(Exception):
    """The input is wrong (exit code 1)."""

    exit_code = 1


class UnsupportedError(Error):
    """The input is valid, but uses something that this version does not support: the message names it (exit code 2)."""

    exit_code = 2


class MismatchError(Error):
    """Two results that must agree do not (exit code 3)."""

    exit_code = 3


class ExportWarning(UserWarning):
    """A program will not do everything that its checkpoint asks for; the command line prints the message."""
