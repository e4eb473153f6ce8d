"""The MoE layers of exported models, on the emulated GPU and by the CPU target: the same weights, the same tokens."""

import re
import subprocess
import sys
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
import torch
from emitted import BUILD, ROOT, host_compiler

from moe_mlir import Executable
from moe_mlir.testing.compiling import export_model, moe_compile
from moe_mlir.testing.configurations import FAMILIES
from moe_mlir.testing.full import sample  # noqa: E402
from moe_mlir.testing.models import tiny_model

sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_check.arrays import to_numbers  # noqa: E402
from gpu_check.compiling import compile_graph  # noqa: E402
from gpu_check.emulation import EmulatedDevice  # noqa: E402
from gpu_check.execution import Execution  # noqa: E402
from gpu_check.reference import choose_tokens  # noqa: E402

LIBRARY = BUILD / "runtime" / "emulation" / "libmoe_emulation.so"
FUNCTION = re.compile(r"^  func\.func @(layer\d+_moe)\(.*?^  \}\n", re.M | re.S)
# Both sides round logits, routing weights, intermediate and result to bf16; each may be rounded the other way. Of a token's largest result.
BOUND = 2.0**-7


@dataclass
class Sizes:
    """What a program has to know of a layer."""

    H: int


@pytest.fixture(scope="module", params=sample(FAMILIES, 1))
def layers(request, tmp_path_factory):
    """(model, folder, {name: graph of one layer, as a module with @main})"""
    folder = tmp_path_factory.mktemp(request.param)
    model = tiny_model(request.param, dtype=torch.bfloat16)
    export_model(model, folder / "model.pt2", max_cache_len=128)
    moe_compile(folder / "model.pt2", folder / "graph.mlir", "--to=graph")
    command = [str(BUILD / "bin" / "moe-opt"), "--moe-extract-layers", str(folder / "graph.mlir")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    head = text.splitlines(keepends=True)[0]
    return model, folder, {m[1]: head + m[0].replace(f"@{m[1]}(", "@main(") + "}\n" for m in FUNCTION.finditer(text)}


def weights_of(model):
    """Bits of the parameters by the names of the export."""
    return {f"model.{name}": parameter.detach().view(torch.int16).numpy().view(np.uint16) for name, parameter in model.named_parameters()}


def test_layers_equal_those_of_the_cpu(layers):
    model, folder, graphs = layers
    weights, config = weights_of(model), model.config
    routed = [number for number, layer in enumerate(model.model.layers) if hasattr(layer.mlp, "experts")]
    assert list(graphs) == [f"layer{number}_moe" for number in routed]
    random = np.random.default_rng(0)
    for number, (name, graph) in zip(routed, graphs.items()):
        (folder / f"{name}.mlir").write_text(graph)
        cpu = Executable(moe_compile(folder / f"{name}.mlir", folder / name, "--from=graph"))
        program = compile_graph(BUILD, graph, Sizes(config.hidden_size), name)
        device = EmulatedDevice(LIBRARY, host_compiler(), folder / "emulated", multiprocessors=3, timing="random", skewed=True)
        device.load(program)
        router = to_numbers(weights[f"model.model.layers.{number}.mlp.gate.weight"], "bf16")
        for tokens in (1, 37):
            x = choose_tokens(lambda n: random.normal(size=(n, config.hidden_size)), tokens, router, config.num_experts_per_tok)
            x = x.astype(ml_dtypes.bfloat16)
            (expected,) = cpu.run({"x": x}).values()
            (y,) = Execution(device, program.plan(tokens), program.kernels, {"x": x.view(np.uint16)}, weights).run()
            largest = np.abs(expected.astype(np.float32)).max(axis=-1, keepdims=True)
            error = np.abs(to_numbers(y, "bf16") - expected.astype(np.float32)) / largest
            assert error.max() <= BOUND, (name, tokens)
            assert largest.min() > 0.1, "layers whose results are small prove little"
