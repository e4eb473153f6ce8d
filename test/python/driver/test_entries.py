"""The MoE layers of a model as entries of one executable, for the CPU."""

import os
import re
import resource
import subprocess

import numpy as np
import pytest
import torch
from compiling import compile_model, expect_error, files

from moe_mlir import Executable
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.models import tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """(model, folder with its exported program): a family with a dense layer between its MoE layers."""
    model = tiny_model("qwen3_moe")
    folder = tmp_path_factory.mktemp("model")
    export_model(model, folder / "model.pt2", max_cache_len=128)
    return model, folder


def test_layers_equal_pytorch(model, tmp_path):
    model, folder = model
    done = compile_model(folder / "model.pt2", "--entry=layers", "-o", tmp_path / "layers", "-q")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == ["layers", "layers.weights"]
    info = subprocess.run([tmp_path / "layers", "--info"], capture_output=True, text=True).stdout
    assert re.findall(r"^entry: +(\S+)$", info, re.M) == ["layer0_moe", "layer2_moe"]
    for number in (0, 2):
        x = torch.randn(1, 19, model.config.hidden_size, generator=torch.Generator().manual_seed(number))
        with torch.no_grad():
            expected = model.model.layers[number].mlp(x)
        expected = (expected[0] if isinstance(expected, tuple) else expected)[0].numpy()
        y = Executable(tmp_path / "layers", entry=f"layer{number}_moe").run({"x": x[0].numpy()})["y"]
        assert_close(y, expected)


def test_an_entry_has_to_be_chosen(model, tmp_path):
    done = compile_model(model[1] / "model.pt2", "--entry=layers", "-o", tmp_path / "layers", "-q")
    assert done.returncode == 0, done.stderr
    np.save(tmp_path / "x.npy", np.zeros((1, 96), np.float32))
    for flags in ([], ["--entry", "layer1_moe"]):
        done = subprocess.run([tmp_path / "layers", "--input", f"x=@{tmp_path / 'x.npy'}", *flags], capture_output=True, text=True)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
        assert "layer0_moe" in done.stderr and "layer2_moe" in done.stderr, done.stderr


def test_other_words(model, tmp_path):
    done = compile_model(model[1] / "model.pt2", "--entry=layer0_moe", "-o", tmp_path / "a")
    assert done.returncode == 1 and "'layer0_moe' is no value of --entry; one of main, layers" in done.stderr
    assert files(tmp_path) == []


def test_modules_without_layers(tmp_path):
    (tmp_path / "a.mlir").write_text("""module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x"}) -> (tensor<?x4xf32> {moe.name = "y"}) {
    return %x : tensor<?x4xf32>
  }
}
""")
    expect_error(compile_model(tmp_path / "a.mlir", "--entry=layers", "-o", tmp_path / "b", "-q"), 2,
                 "@main has no MoE layer (moe.combine) to extract")
    assert files(tmp_path) == ["a.mlir"]


def limit():
    """Of the processor's time: other work on the machine takes none of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (25, 25))


def test_many_entries(tmp_path, count=1500):
    """In some seconds; it took the square of their number, 20 s for 1,000."""
    entries = "".join(f"  func.func @f{i}(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {{ return %x : tensor<?x8xf32> }}\n" for i in range(count))
    (tmp_path / "a.mlir").write_text(f'module attributes {{moe.level = "graph"}} {{\n{entries}}}\n')
    done = compile_model(tmp_path / "a.mlir", "-o", tmp_path / "a", "-q", env={**os.environ, "MOE_CACHE_DIR": ""}, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    info = subprocess.run([tmp_path / "a", "--info"], capture_output=True, text=True).stdout
    assert re.findall(r"^entry: +(\S+)$", info, re.M) == [f"f{i}" for i in range(count)]
