"""scripts/same-bits on the emulated GPU: each side runs the kernels' text that its compiler wrote, and a planted difference is found."""

import sys

from cuda_program import compile_model, layer_text, needs_cuda

from moe_mlir.testing import same_bits
from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.full import whole

# Compiles, and then edits the text of the kernels in the object: 1 / (1 + exp(-x)) of the gated rows.
WRAPPER = """#!{python}
import subprocess, sys
subprocess.run([{real!r}, *sys.argv[1:]], check=True)
data = open(sys.argv[3], "rb").read()
assert b"= 1.000000000e+00f;" in data
open(sys.argv[3], "wb").write(data.replace(b"= 1.000000000e+00f;", b"= 1.000100000e+00f;"))
"""
# A compiler from before activations were approximated: takes what permits it out of the kernels.
OLDER = """#!{python}
import re, subprocess, sys
source, _, output, *flags = sys.argv[1:]
of_model = [flag for flag in flags if flag.startswith(("--target=", "--entry="))]
subprocess.run([{real!r}, source, "--to=kernel", "-o", output + ".mlir", "-q", *of_model], check=True)
text, count = re.subn(" fastmath<(?:afn|arcp|,)+>", "", open(output + ".mlir").read())
assert count
open(output + ".mlir", "w").write(text)
sys.exit(subprocess.run([{real!r}, output + ".mlir", "-o", output, *flags]).returncode)
"""


def wrapper(path, text):
    path.write_text(text.format(python=sys.executable, real=str(compiler())))
    path.chmod(0o755)
    return path


@needs_cuda
@whole
def test_planted_difference(tmp_path):
    old = wrapper(tmp_path / "moe-compile", WRAPPER)
    lines, both_refuse = same_bits.differences("gpu-mixtral/float32", {"old": old, "new": compiler()}, 0, False)
    assert not both_refuse and len(lines) == 3, lines
    assert all(" values of 'y' by up to " in line for line in lines), lines
    assert same_bits.differences("gpu-mixtral/float32", {"old": old, "new": old}, 0, False) == ([], "")


@needs_cuda
@whole
def test_older_than_approximate_activations(tmp_path):
    case, compilers = "gpu-mixtral/bfloat16", {"old": wrapper(tmp_path / "moe-compile", OLDER), "new": compiler()}
    assert same_bits.differences(case, compilers, 0, False, exact=True) == ([], "")
    lines, both_refuse = same_bits.differences(case, compilers, 0, False)
    assert not both_refuse and any(" values of 'y' by up to " in line for line in lines), lines


def test_exact_activations(tmp_path):
    """The option leaves nothing in the kernels that permits to approximate."""
    (tmp_path / "layer.mlir").write_text(layer_text())
    sources = [tmp_path / "layer.mlir", same_bits.with_exact_activations(compiler(), tmp_path / "layer.mlir", tmp_path)]
    kernels = [compile_model(source, f"--target={same_bits.GPU}", "--to=kernel", "-q") for source in sources]
    assert [done.returncode for done in kernels] == [0, 0], kernels
    assert ["fastmath<afn" in done.stdout for done in kernels] == [True, False]
