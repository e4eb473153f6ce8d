"""Errors that end a benchmark, with the exit code of the tools."""


class BenchError(Exception):
    """Ends the benchmark with one line; `exit_code` as everywhere: 1 wrong input, 2 unsupported, 3 mismatch, 70 internal."""

    def __init__(self, message, exit_code=1):
        super().__init__(message)
        self.exit_code = exit_code
