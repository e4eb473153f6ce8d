"""scripts/same-bits on the emulated GPU: each side runs the kernels' text that its compiler wrote, and a planted difference is found."""

import sys

from cuda_program import needs_cuda

from moe_mlir.testing import same_bits
from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.full import whole

pytestmark = [needs_cuda, whole]
# Compiles, and then edits the text of the kernels in the object: 1 / (1 + exp(-x)) of the gated rows.
WRAPPER = """#!{python}
import subprocess, sys
subprocess.run([{real!r}, *sys.argv[1:]], check=True)
data = open(sys.argv[3], "rb").read()
assert b"= 1.000000000e+00f;" in data
open(sys.argv[3], "wb").write(data.replace(b"= 1.000000000e+00f;", b"= 1.000100000e+00f;"))
"""


def test_planted_difference(tmp_path):
    old = tmp_path / "moe-compile"
    old.write_text(WRAPPER.format(python=sys.executable, real=str(compiler())))
    old.chmod(0o755)
    lines, both_refuse = same_bits.differences("gpu-mixtral/float32", {"old": old, "new": compiler()}, 0, False)
    assert not both_refuse and len(lines) == 3, lines
    assert all(" values of 'y' by up to " in line for line in lines), lines
    assert same_bits.differences("gpu-mixtral/float32", {"old": old, "new": old}, 0, False) == ([], "")
