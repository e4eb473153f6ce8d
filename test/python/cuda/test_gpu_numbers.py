"""What a GPU's numbers are held against: bounds of all elements, tokens that are clearly routed, and runs that differ, on PyTorch's CPU."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from gpu_check import exact, numerics, steadiness  # noqa: E402
from gpu_check.cases import Layer  # noqa: E402
from gpu_check.measuring import floor_of, floor_seconds  # noqa: E402
from gpu_check.ours import random_weights  # noqa: E402
from gpu_check.plan import Buffer, Launch, Plan  # noqa: E402
from gpu_check.steps.programs import deviation  # noqa: E402

LAYER = Layer(64, 48, 6, 2)


@pytest.fixture(scope="module")
def case():
    weights, _ = random_weights(SimpleNamespace(torch_device="cpu"), LAYER)
    x = exact.clear_tokens(LAYER, weights, 50, lambda count: torch.randn(count, LAYER.H))
    return weights, x, *exact.exact_layer(LAYER, weights, x)


def test_chosen_tokens_are_clearly_routed(case):
    weights, x, _, _, clear = case
    assert x.shape == (50, LAYER.H) and clear.all()
    # Half an ulp more or less in every logit leaves the experts as they are.
    logits = exact.logits_of(LAYER, weights, x)
    for sign in (-1, 1):
        moved = logits + sign * 2.0**-9 * logits.abs() * (-1) ** torch.arange(LAYER.E)
        assert torch.equal(moved.topk(LAYER.k).indices.sort().values, logits.topk(LAYER.k).indices.sort().values)
    equal = {**weights, "router": torch.zeros_like(weights["router"])}
    with pytest.raises(ValueError, match="only 0 of 72 tokens are clearly routed"):
        exact.clear_tokens(LAYER, equal, 1, lambda count: torch.ones(count, LAYER.H))


def test_rounding_is_within_the_bound(case):
    _, _, y, terms, _ = case
    found = exact.errors(y.to(torch.bfloat16), y, terms)
    assert found["wrong"] == 0 and found["elements"] == y.numel() and 0.3 < found["rms"] < 1


def test_what_is_outside_of_the_bound(case):
    """One element of 3200: a NaN, an infinity, two bounds off; and a layer that takes one expert's rows with another's weights."""
    weights, x, y, terms, _ = case
    for value in (float("nan"), float("inf"), float(y[7, 9] + 2 * exact.BOUND * terms[7, 9])):
        got = y.clone()
        got[7, 9] = value
        found = exact.errors(got, y, terms)
        assert found["wrong"] == 1 and 1.9 < found["worst"] <= 1e30
    swapped = {**weights, "w_in": weights["w_in"].clone()}
    swapped["w_in"][2] = weights["w_in"][3]
    assert exact.errors(exact.exact_layer(LAYER, swapped, x)[0], y, terms)["wrong"] > 100
    # The last of the steps over K left out.
    short = {**weights, "w_out": weights["w_out"].clone()}
    short["w_out"][..., 32:] = 0
    assert exact.errors(exact.exact_layer(LAYER, short, x)[0], y, terms)["wrong"] > 100


class FakeLayer:
    """Two launches: `first` writes a buffer of x, `second` the result of that. `faults`: {call: (launch, element)}, a bit that is flipped."""

    names = ["first", "second"]

    def __init__(self, faults):
        self.faults, self.calls = faults, 0
        roles = ["input", "scratch", "output"]
        arguments = [[{"buffer": 0, "sizes": []}, {"buffer": 1, "sizes": []}], [{"buffer": 1, "sizes": []}, {"buffer": 2, "sizes": []}]]
        launches = [Launch(name, False, these, 1, 1) for name, these in zip(self.names, arguments)]
        self.plan, self.output = Plan([Buffer(role, "", "f32", [8]) for role in roles], launches, [2]), 2
        self.buffers = [torch.empty(0), torch.zeros(8), torch.zeros(8)]
        self.gpu = SimpleNamespace(synchronize=lambda: None)

    def launch(self, number, x):
        source = x if number == 0 else self.buffers[1]
        self.buffers[number + 1][:] = 2 * source + 1
        fault = self.faults.get(self.calls)
        if fault and fault[0] == number:
            self.buffers[number + 1].view(torch.int32)[fault[1]] ^= 1 << 20
        self.calls += number

    def __call__(self, x):
        for number in range(2):
            self.launch(number, x)


X = torch.arange(8, dtype=torch.float32)


def test_runs_that_are_equal():
    result, faults, runs = steadiness.steadiness(FakeLayer({}), X, 20)
    assert faults == [] and runs == 20 and torch.equal(result, 4 * X + 3)


@pytest.mark.parametrize("run", [0, 7, 19])
def test_a_run_that_differs(run):
    """Whichever it is, the result is that of the others. Call 0 is the one launch by launch."""
    result, (fault,), runs = steadiness.steadiness(FakeLayer({run + 1: (0, 3)}), X, 20)
    assert torch.equal(result, 4 * X + 3) and runs == 20
    assert fault == {"runs": [run], "result elements": 1, "launch": 0, "kernel": "first", "launch elements": 1}


def test_the_launch_that_differs():
    _, (fault,), _ = steadiness.steadiness(FakeLayer({5: (1, 3)}), X, 20)
    assert (fault["runs"], fault["kernel"], fault["result elements"]) == ([4], "second", 1)


def test_runs_of_which_no_two_are_equal():
    """Some outcomes are kept, and that is said; not all of them."""
    _, faults, runs = steadiness.steadiness(FakeLayer({call: (1, call % 8) for call in range(1, 20)}), X, 20)
    assert runs == steadiness.MOST and len(faults) == steadiness.MOST - 1


def test_floor(tmp_path):
    assert floor_of(tmp_path) == {} and floor_seconds({}, 1, 1) is None
    lines = ['{"type": "floor", "read bytes/s": 4e12, "copy bytes/s": 2e12}', '{"type": "floor", "product operations/s": 5e14}', '{"cut']
    (tmp_path / "floor.jsonl").write_text("\n".join(lines))
    assert floor_seconds(floor_of(tmp_path), 5e14, 1) == 1 and floor_seconds(floor_of(tmp_path), 1, 4e12) == 1


@pytest.mark.parametrize("kernel, wrong, passed", [
    ("gate_8_top2_softmax", 1e-9, False), ("experts_down_8x96x80_bf16", 1e-9, True), ("experts_down_8x96x80_bf16", 1e-4, False),
])  # fmt: skip
def test_what_is_left_of_a_sum(kernel, wrong, passed):
    """A small element that is wrong by little of the largest one: only sums of a second product may be."""
    expected = np.array([1.5, 1e-6], np.float32)
    finding = {"kernel": kernel, "bits equal": True, "worst": 0.0, "passed": True}
    numerics.compare(expected + np.array([0, wrong], np.float32), expected, "f32", finding)
    assert finding["passed"] == passed and not finding["bits equal"]


BITS, BOUND, ROWS = {"bound": 0, "typical": None}, {"bound": 0.01, "typical": None}, {"bound": 0.02, "typical": 0.005}


@pytest.mark.parametrize("case, change, fits", [
    (BITS, lambda y: y, True), (BITS, lambda y: np.nextafter(y, np.float32(9)), False), (BITS, lambda y: y.astype(np.float64), False), (BITS, lambda y: y[1:], False),
    (BOUND, lambda y: y + y.max() * np.float32(0.009), True), (BOUND, lambda y: y + y.max() * np.float32(0.011), False), (BOUND, lambda y: y * np.float32("nan"), False),
    (ROWS, lambda y: y * np.float32(1.004), True), (ROWS, lambda y: y * np.float32(1.006), False),
    (ROWS, lambda y: np.concatenate([y[:19], -y[19:]]), True), (ROWS, lambda y: np.concatenate([y[:17], -y[17:]]), False),
])  # fmt: skip
def test_deviations_of_programs(case, change, fits):
    """Bits, a part of the largest value, or most rows: one of twenty may have gone to another expert, three may not."""
    expected = np.random.default_rng(0).uniform(0.5, 1, (20, 8)).astype(np.float32)
    assert (deviation(change(expected), expected, case) <= 1) == fits
