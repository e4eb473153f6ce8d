"""scripts/same-bits: equal compilers make no difference, and a planted one is found and can be repeated."""

import subprocess
import sys

import numpy as np
import pytest

from moe_mlir.testing import same_bits
from moe_mlir.testing.bit_cases import cases
from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.full import whole
from moe_mlir.testing.paths import ROOT

COUNT, CASE = "5", "drawn-4/float32"
# Compiles the graph's text after an edit: the epsilon of the norms is a little larger.
EDITS_TEXT = r"""
import re, subprocess, sys
source, _, output, *flags = sys.argv[1:]
subprocess.run([REAL, source, "--to=graph", "-o", output + ".mlir", "-q"], check=True)
text, count = re.subn(r"eps\([^)]*\)", "eps(1.1e-06)", open(output + ".mlir").read())
assert count
open(output + ".mlir", "w").write(text)
sys.exit(subprocess.run([REAL, output + ".mlir", "-o", output, *flags]).returncode)
"""
REFUSES = "import sys; sys.exit('moe-compile: error: ' + sys.argv[1] + ': no such model')"


def wrapper(path, text):
    """A compiler made of the real one."""
    path.write_text(f"#!{sys.executable}\nREAL = {str(compiler())!r}\n{text}")
    path.chmod(0o755)
    return path


@whole
def test_equal_compilers():
    command = [ROOT / "scripts" / "same-bits", "--old", compiler(), "--new", compiler(), "--count", COUNT, "--only", CASE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 cases: 1 have the same bits, 0 differ, 0 are refused by both\n"
    assert f"s {CASE}: same" in done.stderr


def test_planted_difference(tmp_path, capfd):
    old = wrapper(tmp_path / "edits", EDITS_TEXT)
    assert same_bits.main(["--old", str(old), "--count", COUNT, "--only", CASE, "--jobs", "1"]) == 3
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == "1 cases: 0 have the same bits, 1 differ, 0 are refused by both"
    for line in lines[:-1]:
        assert line.startswith(f"different: {CASE}: call ") and " values of 'logits' by up to " in line
        assert line.endswith(f"; repeat: scripts/same-bits --old {old} --count {COUNT} --only {CASE}")
    assert len(lines) == 1 + 3  # a line for each call


def test_refusals(tmp_path):
    refuses = wrapper(tmp_path / "refuses", REFUSES)
    message = "exit code 1: moe-compile: error: /model.pt2: no such model"
    lines = [f"the old compiler refuses it ({message})"]
    assert same_bits.differences(CASE, {"old": refuses, "new": compiler()}, int(COUNT), False) == (lines, "")
    assert same_bits.differences(CASE, {"old": refuses, "new": refuses}, int(COUNT), False) == ([], message)


def test_comparison_is_of_bits():
    zero, minus = ({"y": np.array([[1, value]], np.float32)} for value in (0.0, -0.0))
    assert list(same_bits.compare_outputs([zero, zero], [zero, minus])) == ["call 1: 1 of 2 values of 'y' by up to 0"]
    nothing = {"y": np.full(3, np.nan, np.float32)}
    assert list(same_bits.compare_outputs([nothing], [nothing])) == []
    assert list(same_bits.compare_outputs([zero], [{"y": zero["y"][0]}])) == ["call 0: 'y' is float32[2], before float32[1, 2]"]
    assert list(same_bits.compare_outputs([zero], [{"x": zero["y"]}])) == ["call 0 has outputs x, before y"]


def test_cases():
    names = [case.name for case in cases(2)]
    assert len(names) == len(set(names)) and {"trained/bfloat16", "olmoe-32/float32", "drawn-1/bfloat16", "gpu-qwen3_moe/bfloat16"} <= set(names)
    assert "drawn-2/float32" not in names and set(names) < {case.name for case in cases(3, full=True)}


def test_a_case_can_be_repeated():
    words = ["--old", "a", "--new", "b", "--full", "--exact-activations", "--count", "2", "--only", "gpu-olmoe/bfloat16"]
    options = same_bits.parser().parse_args(words)
    assert same_bits.repeat(options, {"old": options.old}, 2, "gpu-olmoe/bfloat16").split() == ["scripts/same-bits", *words]


@pytest.mark.parametrize("words, message", [
    (["--old", "/none"], "error: there is no compiler at '/none'"),
    (["--old", sys.executable, "--only", "x"], "error: --only: no case matches 'x'"),
    (["--old", sys.executable, "--count", "-1"], "error: --count must be at least 0"),
    (["--old", sys.executable, "--new", sys.executable, "--exact-activations"], "error: --exact-activations: there is no '"),
])
def test_wrong_input(words, message, capsys):
    assert same_bits.main(words) == 1
    assert capsys.readouterr().err.startswith(message)
