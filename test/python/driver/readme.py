"""Runs the shell blocks of a README as its reader would: one after the other, in one folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def blocks(path):
    return re.findall(r"^```sh\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def run_blocks(path, folder):
    """Output of each block; `python` is this Python (see page_python.py), and `examples` lies beside."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("page_python.py")}" "$@"\n')
    (tools / "python").chmod(0o755)
    (folder / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python")}
    results = []
    for block in blocks(path):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment,
                              capture_output=True, text=True, errors="replace", timeout=600)
        # `grep | head` may end the grep early; everything else must succeed.
        assert done.returncode in ((0, 141) if "head" in block else (0,)), f"{block}\n{done.stderr}"
        results.append(done.stdout)
    return results
