"""The CPU that --info names is the one that the code is for, wherever the compilation began."""

import re
import subprocess

import pytest
from compiling import compile_model

LAYER = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x64xf32> {moe.name = "x", moe.dims = ["tokens", ""]}, %w: tensor<32x64xf32>)
      -> (tensor<?x32xf32> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %y = nn.linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }
}
"""


def cpu_of(folder, *arguments):
    done = compile_model(*arguments, "-o", folder / "program", "-q")
    assert done.returncode == 0, done.stderr
    text = subprocess.run([folder / "program", "--info"], capture_output=True, text=True, check=True).stdout
    return re.search("^target cpu: (.*)$", text, re.MULTILINE)[1]


def test_kernels_keep_their_cpu(tmp_path):
    source, kernels = tmp_path / "a.mlir", tmp_path / "kernels.mlir"
    source.write_text(LAYER)
    assert cpu_of(tmp_path, source, "--target-cpu=x86-64-v3") == "x86-64-v3"
    done = compile_model(source, "--target-cpu=x86-64-v3", "--to=kernel", "-o", kernels, "-q")
    assert done.returncode == 0, done.stderr
    assert cpu_of(tmp_path, kernels) == "x86-64-v3"


def test_native_is_a_cpu(tmp_path):
    (tmp_path / "a.mlir").write_text(LAYER)
    kernels = tmp_path / "kernels.mlir"
    assert compile_model(tmp_path / "a.mlir", "--to=kernel", "-o", kernels, "-q").returncode == 0
    name = re.search('cpu = "(.*?)"', kernels.read_text())[1]
    assert name != "native" and cpu_of(tmp_path, tmp_path / "a.mlir") == name


@pytest.mark.parametrize("level", ["kernel", "runtime"])
def test_kernels_cannot_be_had_for_another_cpu(level, tmp_path):
    source, lowered = tmp_path / "a.mlir", tmp_path / "lowered.mlir"
    source.write_text(LAYER)
    assert compile_model(source, "--target-cpu=x86-64-v3", f"--to={level}", "-o", lowered, "-q").returncode == 0
    done = compile_model(lowered, "-o", tmp_path / "program", "--target-cpu=znver4", "--progress=none")
    said = f"'{lowered}' is at level {level} for CPU 'x86-64-v3', but --target-cpu says znver4; leave it out, or start from an earlier level"
    assert (done.returncode, done.stderr) == (1, f"moe-compile: error: {said}\n")
    assert not (tmp_path / "program").exists()
    assert cpu_of(tmp_path, lowered, "--target-cpu=x86-64-v3") == "x86-64-v3"


def test_native_kernels_are_native_here(tmp_path):
    """The machine's name and what it hides of that CPU are both compared."""
    source, kernels = tmp_path / "a.mlir", tmp_path / "kernels.mlir"
    source.write_text(LAYER)
    assert compile_model(source, "--to=kernel", "-o", kernels, "-q").returncode == 0
    assert compile_model(kernels, "--to=runtime", "-o", tmp_path / "r.mlir", "--target-cpu=native", "-q").returncode == 0
    changed = re.sub('features = "(.*?)"', r'features = "\1,+avx2,-sse4a"', kernels.read_text())
    kernels.write_text(changed)
    done = compile_model(kernels, "--to=runtime", "-o", tmp_path / "r.mlir", "--target-cpu=native", "-q")
    assert done.returncode == 1 and ",+avx2,-sse4a', but --target-cpu says native (" in done.stderr
