"""Whole layers by the harness of the GPU's checks (benchmarks/gpu_check), on the emulated GPU: the same cases and the same code that run on a
GPU, with another device below them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from emitted import BUILD, host_compiler, with_pipeline

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from gpu_check import numerics, reference  # noqa: E402
from gpu_check.arrays import to_bits, to_numbers  # noqa: E402
from gpu_check.cases import NUMERICS, fractions, name_of, small_integers, weights_of  # noqa: E402
from gpu_check.compiling import compile_layer  # noqa: E402
from gpu_check.emulation import EmulatedDevice, RuleBroken  # noqa: E402
from gpu_check.execution import Execution  # noqa: E402
from gpu_check.program import Program  # noqa: E402

from moe_mlir.testing.full import sample  # noqa: E402

LIBRARY = BUILD / "runtime" / "emulation" / "libmoe_emulation.so"
# The two largest, whose kernels test_emitted_layer.py has in every run, only in a full one.
SOME = sample(NUMERICS, 0, 1, 2, 3, 4, 7, 8)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Function: case -> (program, device), built once; the program went through its files."""
    made = {}

    def get(tokens, layer):
        if layer not in made:
            folder = tmp_path_factory.mktemp("program")
            compile_layer(BUILD, layer, "layer").save(folder)
            program = Program.load(folder / "layer")
            device = EmulatedDevice(LIBRARY, host_compiler(), folder)
            device.load(program)
            made[layer] = program, device
        return made[layer]

    return get


def layer_data(tokens, layer, draw):
    random = np.random.default_rng(tokens + layer.I)
    weights = weights_of(layer, random, draw)
    exact = {name: to_numbers(to_bits(a, layer.element), layer.element) for name, a in weights.items()}
    scale = 1 if draw is small_integers else layer.H**0.5
    x = reference.choose_tokens(lambda n: draw(random, (n, layer.H)) * scale, tokens, exact["router"], layer.k, layer.element, exact.get("b_router", 0))
    return to_bits(x, layer.element), {name: to_bits(a, layer.element) for name, a in exact.items()}, exact


@pytest.mark.parametrize("draw", sample([small_integers, fractions], 1), ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("tokens, layer", SOME, ids=[name_of(*case) for case in SOME])
def test_layer_against_numpy(tokens, layer, draw, programs):
    program, device = programs(tokens, layer)
    x, weights, exact = layer_data(tokens, layer, draw)
    expected, terms = reference.forward(to_numbers(x, layer.element), exact, layer)
    for multiprocessors, schedule in ((2, {"timing": "lazy"}), (3, {"timing": "random", "skewed": True, "seed": 5})):
        device.multiprocessors, device.schedule = multiprocessors, schedule
        (y,) = Execution(device, program.plan(tokens), program.kernels, {"x": x}, weights).run()
        assert reference.worst(to_numbers(y, layer.element), expected, terms, layer.element) <= 1


@pytest.mark.parametrize("tokens", [0, 1, 130])
def test_any_number_of_tokens(tokens, programs):
    """One host function for all numbers of tokens, none included."""
    layer = NUMERICS[0][1]
    program, device = programs(0, layer)
    x, weights, exact = layer_data(tokens, layer, fractions)
    (y,) = Execution(device, program.plan(tokens), program.kernels, {"x": x}, weights).run()
    assert y.shape == (tokens, layer.H)
    expected, terms = reference.forward(to_numbers(x, "bf16"), exact, layer)
    assert reference.worst(to_numbers(y, "bf16"), expected, terms) <= 1


def test_records_are_the_same_under_other_schedules(programs, tmp_path):
    """What the GPU's check compares with, by the code that compares."""
    tokens, layer = NUMERICS[1]
    program, device = programs(tokens, layer)
    device.multiprocessors, device.schedule = 2, {"timing": "eager"}
    numerics.save_records(tmp_path / "records.npz", numerics.record(program, tokens, device))
    records = numerics.load_records(tmp_path / "records.npz")
    launches = {launch.kernel for launch in program.plan(tokens).launches}
    device.multiprocessors, device.schedule = 4, {"timing": "lazy", "skewed": True}
    findings = list(numerics.check(program, tokens, records, device))
    assert {finding["kernel"] for finding in findings} == launches
    assert all(finding["bits equal"] and finding["passed"] for finding in findings), findings
    # One wrong number, integer or not, is found.
    for entry in records:
        for i, array in entry["after"].items():
            before = array.flat[0]
            number = (to_numbers(array, "bf16") if array.dtype == np.uint16 else array).flat[0]
            wrong = number + abs(number) + 1
            array.flat[0] = to_bits(wrong, "bf16")[0] if array.dtype == np.uint16 else wrong
            assert not all(f["passed"] for f in numerics.check(program, tokens, [entry], device)), (entry["launch"], i)
            array.flat[0] = before
            break


def test_a_broken_rule_ends_the_check(programs, tmp_path):
    tokens, layer = NUMERICS[0]
    program, _ = programs(tokens, layer)
    broken = Program("broken", layer, program.host, dict(program.kernels), {})
    for name, kernel in broken.kernels.items():
        broken.kernels[name] = type(kernel)(**{**vars(kernel), "text": with_pipeline(kernel.text, f"of_{name}").replace("moe::fenceProxyAsyncShared();", "{}")})
    device = EmulatedDevice(LIBRARY, host_compiler(), tmp_path)
    device.load(broken)
    x, weights, _ = layer_data(tokens, layer, small_integers)
    with pytest.raises(RuleBroken, match="fence.proxy.async"):
        Execution(device, broken.plan(tokens), broken.kernels, {"x": x}, weights).run()
