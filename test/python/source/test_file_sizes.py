"""A file is short enough to be read at once: 400 lines, but for what is generated. Half of the compiler's have 76 lines at most."""

import re
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MOST, MEDIAN = 400, 76
GENERATED = re.compile(r"docs/Spec/|docs/Families\.md$|benchmarks/results/")
TEXT = re.compile(r"\.(c|cpp|cu|cuh|h|td|py|sh|mlir|test|md|txt|cmake)$|^(scripts|\.ci|benchmarks)/[^.]+$")
CODE = re.compile(r"\.(cpp|h|td)$")


def lengths(wanted, *folders):
    """{file: its lines} of those in the repository, or in these folders."""
    files = subprocess.run(["git", "ls-files", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (ROOT / name).read_text().count("\n") for name in files if wanted.search(name) and not GENERATED.search(name)}


def test_no_file_is_long():
    files = lengths(TEXT)
    assert len(files) > 1000
    assert [name for name, lines in files.items() if lines > MOST] == []


def test_most_files_are_short():
    """Divide a file by what it does, rather than add to it."""
    files = lengths(CODE, "lib", "include", "tools")
    assert len(files) > 600
    assert statistics.median(files.values()) <= MEDIAN
