"""A file is short enough to be read at once: 400 lines, but for what is generated."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MOST = 400
GENERATED = re.compile(r"docs/Spec/|docs/Families\.md$|benchmarks/results/")
TEXT = re.compile(r"\.(c|cpp|cu|cuh|h|td|py|sh|mlir|test|md|txt|cmake)$|^(scripts|\.ci|benchmarks)/[^.]+$")


def test_no_file_is_long():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [name for name in files if TEXT.search(name) and not GENERATED.search(name)]
    assert len(files) > 1000
    assert [name for name in files if (ROOT / name).read_text().count("\n") > MOST] == []
