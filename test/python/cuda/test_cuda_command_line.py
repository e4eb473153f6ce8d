"""What `--target=cuda:...` refuses: one message, the right exit code, nothing left behind."""

import os
import re
from pathlib import Path

import pytest
from cuda_program import compile_model, expect_error, files, needs_cuda, pack

LINEAR = """module attributes {{moe.level = "graph"}} {{
  func.func @main(%x: tensor<?x64xbf16> {{moe.name = "x", moe.dims = ["tokens", ""]}}) -> (tensor<?x32xbf16> {{moe.name = "y"}}) {{
    {weight}
    %y = nn.linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16> -> tensor<?x32xbf16>
    return %y : tensor<?x32xbf16>
  }}
}}
"""


# The names of the compiler's table, and their architecture.
DEVICES = re.findall(r'^    \{"([^"]+)", "', (Path(__file__).resolve().parents[3] / "lib/Analysis/CudaDevices.cpp").read_text(), re.M) + ["sm_90a"]
TARGETS = ", ".join(["cpu", *(f"cuda:{name}" for name in DEVICES)])
GPUS = ", ".join(DEVICES)


@pytest.fixture
def layer(tmp_path):
    path = tmp_path / "in" / "layer.mlir"
    path.parent.mkdir()
    path.write_text(LINEAR.format(weight='%w = moe.parameter ["w"] : tensor<32x64xbf16>'))
    return path


@pytest.mark.parametrize("target, code, text", [
    ("gpu", 1, f"unknown target 'gpu' in --target; {TARGETS}"),
    ("cuda", 1, f"unknown target 'cuda' in --target; {TARGETS}"),
    ("cuda:sm_80", 2, f"unknown GPU 'sm_80'; kernels are written for {GPUS}"),
    ("cuda:", 2, f"unknown GPU ''; kernels are written for {GPUS}"),
])
def test_targets_that_there_are_not(layer, tmp_path, target, code, text):
    assert DEVICES[0] == "h200" and len(DEVICES) > 2
    expect_error(compile_model(layer, "-o", tmp_path / "a", f"--target={target}"), code, text)
    assert files(tmp_path) == ["in", "in/layer.mlir"]


@pytest.mark.parametrize("flags", [["--target=cuda:sm_90a", "--entry=layers"], ["--entry=layers"]])
def test_model_without_moe_layers(tmp_path, flags):
    source = pack(tmp_path / "a.pt2", "tiny.json")
    expect_error(compile_model(source, "--to=kernel", "-o", tmp_path / "a", "-q", *flags), 2,
                 "@main has no MoE layer (moe.combine) to extract")
    assert files(tmp_path) == ["a.pt2"]


@needs_cuda
def test_nvrtc_that_is_not_there(layer, tmp_path, monkeypatch):
    monkeypatch.setenv("MOE_NVRTC", "/nowhere")
    expect_error(compile_model(layer, "-o", tmp_path / "a", "--target=cuda:sm_90a", "--weights=none", "-q"), 1,
                 "MOE_NVRTC names '/nowhere', where there is no libnvrtc.so")
    assert files(tmp_path) == ["in", "in/layer.mlir"]


@needs_cuda
def test_parameters_without_weights(layer, tmp_path):
    expect_error(compile_model(layer, "-o", tmp_path / "a", "--target=cuda:sm_90a", "-q"), 1,
                 "the module has parameters but no moe.weights attribute: give the file with --weights")
    assert files(tmp_path) == ["in", "in/layer.mlir"]


def test_pipe_as_nvrtc(layer, tmp_path):
    """Opening it would wait for a writer."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    flags = ["-o", tmp_path / "a", "--target=cuda:sm_90a", "--weights=none", "--progress=none"]
    refused = compile_model(layer, *flags, timeout=60, env=dict(os.environ, MOE_NVRTC=str(pipe)))
    expect_error(refused, 1, f"MOE_NVRTC names '{pipe}', which is a pipe, no library")


@needs_cuda
def test_cache_that_others_can_write(layer, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    done = compile_model(layer, "-o", tmp_path / "a", "--target=cuda:sm_90a", "--weights=none", "--progress=none", timeout=120,
                         env=dict(os.environ, MOE_CACHE_DIR=str(cache)))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"the kernel cache '{cache}' is not used: others can write '{cache}'") == 1
    assert list(cache.iterdir()) == []
