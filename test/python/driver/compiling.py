"""Runs moe-compile and looks at what it leaves behind."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

TOOL = shutil.which("moe-compile")
INPUTS = Path(__file__).resolve().parents[2] / "Import" / "Inputs"


# What a reader may cost for a file of a few megabytes; a process that asks for more memory dies.
MEMORY, SECONDS = 2 << 30, 20


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def compile_model(*arguments, timeout=300, **options):
    """Runs moe-compile to its end; returns the finished process with text output."""
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)


def expect_error(process, code, *texts):
    """One message with these texts, this exit code, no backtrace."""
    assert process.returncode == code, process.stderr
    errors = [line for line in process.stderr.splitlines() if line.startswith("moe-compile: ")]
    assert len(errors) == 1, process.stderr
    for text in texts:
        assert text in errors[0], process.stderr
    assert "Stack dump" not in process.stderr


def pack(path, fixture, *changes):
    """Writes a .pt2 from a fixture of the import tests, with changes."""
    subprocess.run([sys.executable, INPUTS / "pack.py", INPUTS / fixture, path, *map(str, changes)], check=True)
    return path


def refuse(source, code, *texts):
    """Compiles `source` and expects this error, and no file besides those that were there."""
    before = files(source.parent)
    process = compile_model(source, "-o", source.parent / "out", "--progress=none")
    expect_error(process, code, *texts)
    assert files(source.parent) == before
    return process.stderr


def files(folder: Path):
    """Names of everything below a folder, hidden files included."""
    return sorted(os.path.relpath(os.path.join(root, name), folder)
                  for root, folders, names in os.walk(folder) for name in names + folders)


def limit_file_size(size):
    """For preexec_fn: files of at most `size` bytes."""
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

    return limit
