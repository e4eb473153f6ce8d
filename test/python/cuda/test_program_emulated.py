"""Whole programs on the emulated GPU: the compiler's host function, launches and tensor maps, the runtime, and the kernels' text.

The program's object is linked with a CUDA whose kernels run on the emulated GPU (runtime/test/cuda); nothing else differs from an executable.
"""

import json
import re

import ml_dtypes
import numpy as np
import pytest
import torch
from cuda_program import SHAPE, check_layer, compile_for_gpu, compile_model, layer_text, layer_weights, needs_cuda
from emitted import cuda_text
from emulated import WARNINGS
from emulated_program import link
from safetensors.numpy import save_file

from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.full import sample
from moe_mlir.testing.models import tiny_model

pytestmark = needs_cuda


def build(source, folder, *flags):
    """Compiles a program and links it with the emulated GPU; returns a function: arguments -> the finished process."""
    compile_for_gpu(source, folder / "program.o", "--emit=obj", f"--dump-intermediates={folder / 'ir'}", *flags)
    kernels = cuda_text((folder / "ir" / "3_kernel.mlir").read_text())
    return link(folder / "program.o", kernels, folder, warnings=(*WARNINGS, "-Wno-unused-parameter"))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layer")
    (folder / "layer.mlir").write_text(layer_text())
    save_file(layer_weights(), folder / "w.safetensors")
    run = build(folder / "layer.mlir", folder, f"--weights={folder / 'w.safetensors'}", f"--report={folder / 'report.json'}")
    run.report = json.loads((folder / "report.json").read_text())
    return run


@pytest.mark.parametrize("tokens", [0, 1, 9, 150])
def test_layer_equals_numpy(program, tokens, tmp_path):
    x = np.random.default_rng(tokens).integers(-2, 3, (tokens, SHAPE.H)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    results = []
    for seed in (1, 2, 3):
        program("--input", f"x=@{tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out", seed=seed)
        results.append(np.load(tmp_path / "out" / "y.npy"))
        check_layer(x, layer_weights(), results[-1])
    for other in results[1:]:  # the same bits under every schedule
        np.testing.assert_array_equal(other, results[0])


def test_layer_of_f16(tmp_path):
    """The same layer in f16, on both devices: three more bits than bf16."""
    (tmp_path / "layer.mlir").write_text(layer_text("f16"))
    save_file(layer_weights(np.float16), tmp_path / "w.safetensors")
    program = build(tmp_path / "layer.mlir", tmp_path, f"--weights={tmp_path / 'w.safetensors'}")
    x = np.random.default_rng(6).integers(-1, 2, (70, SHAPE.H)).astype(np.float16)
    np.save(tmp_path / "x.npy", x)
    for device in ("cuda:0", "cpu"):
        program("--input", f"x=@{tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out", "--device", device)
        y = np.load(tmp_path / "out" / "y.npy")
        assert y.dtype == np.float16
        check_layer(x, layer_weights(np.float16), y.astype(np.float64), tolerance=2**-9)


def test_calls_of_one_session(program, tmp_path):
    """Memory that one call leaves behind does not show in the next, larger or smaller."""
    lines = []
    for i, tokens in enumerate((5, 140, 1, 0, 33)):
        np.save(tmp_path / f"x{i}.npy", np.random.default_rng(i).integers(-2, 3, (tokens, SHAPE.H)).astype(np.float32))
        lines.append(f"--input x=@{tmp_path}/x{i}.npy --output-dir {tmp_path}/out{i}")
    (tmp_path / "calls").write_text("\n".join(lines))
    program("--calls", tmp_path / "calls")
    for i in range(len(lines)):
        check_layer(np.load(tmp_path / f"x{i}.npy"), layer_weights(), np.load(tmp_path / f"out{i}" / "y.npy"))


def test_edits_of_the_kernel_level(tmp_path):
    """Another epilogue, written by hand: silu(gate) + up instead of the product."""
    (tmp_path / "layer.mlir").write_text(layer_text())
    save_file(layer_weights(), tmp_path / "w.safetensors")
    done = compile_model(tmp_path / "layer.mlir", "--target=cuda:sm_90a", "--to=kernel", "-o", tmp_path / "kernel.mlir", "-q")
    assert done.returncode == 0, done.stderr
    head, up, tail = re.split(r"(kernel\.func @experts_up.*?kernel\.return)", (tmp_path / "kernel.mlir").read_text(), flags=re.S)
    up, count = re.subn(r"arith\.mulf (%\w+, %\w+ : f32\n\s*%\w+ = arith\.truncf)", r"arith.addf \1", up)
    assert count
    (tmp_path / "edited.mlir").write_text(head + up + tail)
    program = build(tmp_path / "edited.mlir", tmp_path, f"--weights={tmp_path / 'w.safetensors'}")
    x = np.random.default_rng(4).integers(-2, 3, (11, SHAPE.H)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    program("--input", f"x=@{tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")

    router, w_in, w_out = (weight.astype(np.float64) for weight in layer_weights().values())
    logits = (x.astype(np.float64) @ router.T).astype(ml_dtypes.bfloat16).astype(np.float64)
    expected = np.zeros((11, SHAPE.H))
    for token, scores in enumerate(logits):
        chosen = np.argsort(-scores, kind="stable")[: SHAPE.k]
        share = np.exp(scores[chosen] - scores.max())
        for expert, weight in zip(chosen, share / share.sum()):
            gate, value = np.split(w_in[expert] @ x[token], 2)
            expected[token] += weight * (w_out[expert] @ (gate / (1 + np.exp(-gate)) + value))
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), expected, rtol=2**-6, atol=2**-6 * np.abs(expected).max())


def test_launches_are_those_of_the_report(program, tmp_path):
    """The emulated GPU has three multiprocessors, and a block of a product for each."""
    np.save(tmp_path / "x.npy", np.zeros((1, SHAPE.H), np.float32))
    program("--input", f"x=@{tmp_path / 'x.npy'}", "--trace", tmp_path / "t.json")
    launches = [e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e.get("cat") == "launch"]
    assert {e["args"]["blocks"] for e in launches if "linear" in e["name"] or "experts" in e["name"]} == {3}
    reported = [launch for layer in program.report["layers"] for launch in layer["launches"]]
    assert [(e["name"], e["args"]["rows"], e["args"]["work"]) for e in launches] == [
        (launch["kernel"], launch["rows"]["size 1"], launch["work"]["size 1"]) for launch in reported]


@pytest.mark.parametrize("family, dtype", sample([("mixtral", torch.bfloat16), ("qwen3_moe", torch.bfloat16), ("olmoe", torch.bfloat16),
                                                  ("mixtral", torch.float32)], 2))  # fmt: skip
def test_layers_of_a_model_equal_the_cpu_s(family, dtype, tmp_path):
    """Each MoE layer of a tiny model, on both devices of one program."""
    model = tiny_model(family, dtype=dtype)
    export_model(model, tmp_path / "model.pt2", max_cache_len=128)
    program = build(tmp_path / "model.pt2", tmp_path, "--entry=layers")
    layers = [i for i, layer in enumerate(model.model.layers) if hasattr(layer.mlp, "experts")]
    for i in layers:
        x = torch.randn(23, model.config.hidden_size, generator=torch.Generator().manual_seed(i)).to(dtype)
        np.save(tmp_path / "x.npy", x.float().numpy())
        y = {}
        for device in ("cuda:0", "cpu"):
            program("--input", f"x=@{tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out", "--entry", f"layer{i}_moe", "--device", device)
            y[device] = np.load(tmp_path / "out" / "y.npy")
        errors = np.array([relative_error(a, b) for a, b in zip(y["cuda:0"], y["cpu"])])
        if dtype == torch.float32:  # products have the same bits, functions such as exp nearly
            assert errors.max() < 1e-5, errors
            continue
        # Sums in another order: a token whose last choice is nearly a tie may go to another expert.
        assert np.median(errors) < 0.005 and (errors < 0.02).mean() > 0.9, errors
