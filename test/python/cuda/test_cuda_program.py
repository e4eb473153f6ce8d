"""Programs for a GPU, from graph to executable; without a GPU they run on the CPU, say what they need, and show their kernels."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from cuda_program import SHAPE, check_layer, compile_for_gpu, compile_model, files, layer_text, layer_weights, needs_cuda, run
from nvrtc import Nvrtc, find_nvrtc, usages
from safetensors.numpy import save_file

from moe_mlir import Executable
from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.full import sample
from moe_mlir.testing.models import tiny_model

pytestmark = needs_cuda
KERNELS = ("linear_", "gate_", "layout_", "experts_up_", "experts_down_", "combine_")


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """(program, weights): the layer as a program for a GPU; small integers, so that sums are exact."""
    folder = tmp_path_factory.mktemp("layer")
    weights = layer_weights()
    (folder / "layer.mlir").write_text(layer_text())
    save_file(weights, folder / "w.safetensors")
    compile_for_gpu(folder / "layer.mlir", folder / "layer", f"--weights={folder / 'w.safetensors'}")
    return folder / "layer", weights


def test_files_of_a_program(layer):
    assert files(layer[0].parent) == ["layer", "layer.cpu.weights", "layer.mlir", "layer.weights", "w.safetensors"]


@pytest.mark.parametrize("tokens", [0, 1, 7, 150])
def test_layer_on_the_cpu_equals_numpy(layer, tokens):
    program, weights = layer
    x = np.random.default_rng(tokens).integers(-2, 3, (tokens, SHAPE.H)).astype(np.float32)
    y = Executable(program, device="cpu").run({"x": x})["y"]
    check_layer(x, weights, y)


def test_without_a_driver(layer, tmp_path):
    program, _ = layer
    np.save(tmp_path / "x.npy", np.zeros((1, SHAPE.H), np.float32))
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("there is a driver")
    for flags in ([], ["--device", "cuda:0"]):
        done = run(program, "--input", f"x=@{tmp_path / 'x.npy'}", *flags)
        assert done.returncode == 1, done.stderr
        assert len(done.stderr.splitlines()) == 1 and "driver" in done.stderr and "--device cpu" in done.stderr, done.stderr


def test_tables_of_a_program_are_one(layer):
    """The place of an entry in the table of kernels is the number of the kernel, for the code of a launch too, which is made apart."""
    symbols = [line.split()[-1] for line in run("nm", layer[0]).stdout.splitlines()]
    tables = [name for name in symbols if name.startswith("moert_kernels")]
    assert len(tables) == len(set(tables)) == 2, tables  # of the program for the GPU, and of that for the CPU


def test_info_names_the_kernels(layer):
    done = run(layer[0], "--info", "--kernels")
    assert done.returncode == 0, done.stderr
    for kernel in KERNELS:
        assert re.search(rf"\b{kernel}\w+", done.stdout), done.stdout
    assert "sm_90a" in done.stdout


def test_dumped_sources_compile(layer, tmp_path):
    """What is embedded is complete: NVRTC makes the same machine code of it."""
    done = run(layer[0], "--dump-source", tmp_path / "source")
    assert done.returncode == 0, done.stderr
    sources = sorted((tmp_path / "source").glob("*.cu"))
    assert [next(kernel for kernel in KERNELS if path.name.startswith(kernel)) for path in sources] == sorted(KERNELS)
    compiler = Nvrtc(find_nvrtc())
    for path in sources:
        cubin, log = compiler.compile(path.read_text(), path.name, include=path.parent)
        assert cubin == path.with_suffix(".cubin").read_bytes(), path.name
        (usage,) = usages(log).values()
        assert usage.spills == 0


def test_same_program_again(layer, tmp_path):
    """From the same text and the cache: the same bytes."""
    source = layer[0].parent
    program = compile_for_gpu(source / "layer.mlir", tmp_path / "layer", f"--weights={source / 'w.safetensors'}")
    for suffix in ("", ".weights", ".cpu.weights"):
        assert Path(f"{program}{suffix}").read_bytes() == Path(f"{layer[0]}{suffix}").read_bytes()


def test_from_later_levels(layer, tmp_path):
    """A file of level scheduled, kernel or runtime is for one device."""
    source = layer[0].parent
    done = compile_model(source / "layer.mlir", "--target=cuda:sm_90a", "--to=runtime", "-o", tmp_path / "r.mlir",
                         f"--dump-intermediates={tmp_path / 'ir'}", "-q")
    assert done.returncode == 0, done.stderr
    for level in ("2_scheduled", "3_kernel", "4_runtime"):
        compile_for_gpu(tmp_path / "ir" / f"{level}.mlir", tmp_path / "a", f"--weights={source / 'w.safetensors'}")
        assert Path(f"{tmp_path / 'a'}.weights").stat().st_size == Path(f"{layer[0]}.weights").stat().st_size
        done = run(tmp_path / "a", "--device", "cpu", "--input", "x=@none.npy")
        assert done.returncode == 1 and "cpu" in done.stderr
    assert files(tmp_path) == ["a", "a.weights", "ir", *(f"ir/{name}.mlir" for name in (
        "0_graph", "1_spmd", "2_scheduled.cpu", "2_scheduled", "3_kernel.cpu", "3_kernel", "4_runtime.cpu", "4_runtime")), "r.mlir"]


def test_random_weights(layer, tmp_path):
    done = compile_model(layer[0].parent / "layer.mlir", "-o", tmp_path / "a", "--target=cuda:sm_90a", "--weights=none")
    assert done.returncode == 0 and "note: the program has no weights: run it with --random-weights" in done.stderr
    assert files(tmp_path) == ["a"]
    np.save(tmp_path / "x.npy", np.ones((3, SHAPE.H), np.float32))
    flags = ["--device", "cpu", "--input", f"x=@{tmp_path / 'x.npy'}"]
    assert run(tmp_path / "a", *flags, "--random-weights", "1").returncode == 0
    assert run(tmp_path / "a", *flags).returncode == 1


@pytest.mark.parametrize("family", sample(["mixtral", "qwen3_moe", "olmoe"], 1))
def test_layers_of_a_model(family, tmp_path):
    """Each MoE layer of a tiny model is an entry that computes what PyTorch's module does."""
    model = tiny_model(family, dtype=torch.bfloat16)
    export_model(model, tmp_path / "model.pt2", max_cache_len=128)
    program = compile_for_gpu(tmp_path / "model.pt2", tmp_path / "layers", "--entry=layers")
    layers = {i: layer.mlp for i, layer in enumerate(model.model.layers) if hasattr(layer.mlp, "experts")}
    info = run(program, "--info").stdout
    assert set(re.findall(r"layer(\d+)_moe", info)) == {str(i) for i in layers}
    for i, layer in layers.items():
        x = torch.randn(1, 23, model.config.hidden_size, generator=torch.Generator().manual_seed(i)).bfloat16()
        with torch.no_grad():
            expected = layer(x)
        expected = (expected[0] if isinstance(expected, tuple) else expected)[0].float().numpy()
        inputs = {"x": x[0].float().numpy()}
        y = Executable(program, device="cpu", entry=f"layer{i}_moe").run(inputs)["y"]
        # A token whose last choice is a tie may go to another expert: most tokens agree to bf16.
        errors = np.array([relative_error(a, b) for a, b in zip(y, expected)])
        assert np.median(errors) < 0.01 and (errors < 0.05).mean() > 0.9, errors


def test_report(layer, tmp_path):
    """The report is of the GPU's kernels; its weights are the archive's."""
    source = layer[0].parent
    compile_for_gpu(source / "layer.mlir", tmp_path / "a", f"--weights={source / 'w.safetensors'}",
                    f"--report={tmp_path / 'report.json'}")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["target"]["gpu"] == "sm_90a" and report["target"]["cpu"] == ""
    assert {each["entry"] for each in report["layers"]} == {"main"}
    launches = [launch for each in report["layers"] for launch in each["launches"]]
    assert [next(kernel for kernel in KERNELS if launch["kernel"].startswith(kernel)) for launch in launches] == list(KERNELS)
    assert {launch["program"]["instruction"] for launch in launches if launch["program"]["kind"] == "tile"} == {"wgmma"}
    info = run(tmp_path / "a", "--info").stdout
    assert re.search(r"parameters: 3 packed arrays, (\d+) bytes", info)[1] == str(report["weight_bytes"])
    up = next(launch for launch in launches if launch["kernel"].startswith("experts_up"))
    assert up["flops"]["size 1"] == 2 * SHAPE.k * 2 * SHAPE.I * SHAPE.H


def test_library(layer, tmp_path):
    """A shared object with the code for both devices shows the runtime's functions and nothing of CUDA's."""
    source = layer[0].parent
    library = compile_for_gpu(source / "layer.mlir", tmp_path / "liblayer.so", "--emit=lib", "--weights=none")
    symbols = run("nm", "-D", library).stdout.splitlines()
    defined = {line.split()[-1] for line in symbols if " U " not in line and " w " not in line}
    assert "moert_session_open" in defined and all(name.startswith("moert_") for name in defined), defined
    # Neither the driver nor a runtime of CUDA is needed to load it.
    assert not re.search(r"\b(cu[A-Z]|cuda)\w+", "\n".join(symbols)), symbols


def test_constants_and_elements_that_the_host_reads(tmp_path):
    """They are linked, and -v says where the host will wait."""
    (tmp_path / "a.mlir").write_text("""module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<9xf32> {moe.name = "x"}, %i: tensor<1xi64> {moe.name = "i"}) -> (tensor<3xf32> {moe.name = "y"}) {
    %c0 = arith.constant 0 : index
    %t = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
    %e = tensor.extract %i[%c0] : tensor<1xi64>
    %at = arith.index_cast %e : i64 to index
    %s = tensor.extract_slice %x[%at] [3] [1] : tensor<9xf32> to tensor<3xf32>
    %y = arith.addf %s, %t : tensor<3xf32>
    return %y : tensor<3xf32>
  }
}
""")
    done = compile_model(tmp_path / "a.mlir", "--target=cuda:sm_90a", "-o", tmp_path / "a", "-v")
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path / 'a.mlir'}:5: " in done.stderr and "the host waits for the GPU and reads an element of memref<1xi64>" in done.stderr
    y = Executable(tmp_path / "a", device="cpu").run({"x": np.arange(9, dtype=np.float32), "i": np.array([5])})["y"]
    assert y.tolist() == [6, 8, 11]
