"""The commands of docs/Cuda.md, one by one as they stand there."""

import re
import subprocess
from pathlib import Path

from moe_mlir.testing.compiling import compiler

ROOT = Path(__file__).resolve().parents[3]
BIN = compiler().parent
[COMMANDS] = re.findall(r"```sh\n(moe-opt layer\.mlir.*?)```", (ROOT / "docs" / "Cuda.md").read_text(), re.S)
# The layer that docs/Compiler.md takes through all levels.
[LAYER] = re.findall(r"^(module attributes \{moe\.level = \"graph\".*?^\})", (ROOT / "docs" / "Compiler.md").read_text(), re.M | re.S)


def test_kernels_of_a_layer(tmp_path):
    (tmp_path / "layer.mlir").write_text(LAYER)
    for line in [*COMMANDS.splitlines(), "moe-compile kernels.mlir --to=runtime -o runtime.mlir", "moe-compile kernels.mlir --from=kernel --to=runtime -o named.mlir"]:
        tool, rest = line.split(" ", 1)
        done = subprocess.run(["sh", "-c", f"'{BIN / tool}' {rest}"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, line + "\n" + done.stderr
    assert 'moe.level = "kernel"' in (tmp_path / "kernels.mlir").read_text()
    assert "__global__" in (tmp_path / "kernels.cu").read_text()
    assert (tmp_path / "runtime.mlir").read_text() == (tmp_path / "named.mlir").read_text()
