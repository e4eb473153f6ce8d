"""Functions near zero, powers and remainders on the emulated GPU: alone, and as activations of experts; scores of gates."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build, call

from moe_mlir import reference as ref
from moe_mlir.testing.full import sample

pytestmark = needs_cuda
BF16 = np.dtype(ml_dtypes.bfloat16)
SPECIAL = [0.0, -0.0, 1e-10, -1e-10, 1e-42, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, 88.0, -88.0, 1e30, -1e30, np.inf, -np.inf, np.nan]


def same(actual, expected):
    """Within two units in the last place; infinities, NaN and the signs of zeros are equal."""
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    np.testing.assert_array_equal(np.signbit(actual[expected == 0]), np.signbit(expected[expected == 0]))
    assert (np.abs(actual - expected)[finite] <= 2 * np.spacing(np.abs(expected[finite]))).all()


def test_of_elements(tmp_path):
    t = "tensor<?x19xf32>"
    program = build(f"""
    func.func @main(%x: {t} {{moe.name = "x"}}, %e: {t} {{moe.name = "e"}}) -> ({t} {{moe.name = "less"}}, {t} {{moe.name = "more"}}, {t} {{moe.name = "power"}}, {t} {{moe.name = "rest"}}) {{
      %less = math.expm1 %x : {t}
      %more = math.log1p %x : {t}
      %power = math.powf %x, %e : {t}
      %rest = arith.remf %x, %e : {t}
      return %less, %more, %power, %rest : {t}, {t}, {t}, {t}
    }}""", tmp_path)  # fmt: skip
    random = np.random.default_rng(0)
    x = np.stack([SPECIAL] * 19 + [random.normal(size=19) * 3 for _ in range(5)]).astype(np.float32)
    exponents = np.stack([*np.broadcast_to(np.array(SPECIAL)[:, None], (19, 19)), *random.normal(size=(5, 19))]).astype(np.float32)
    call(program, tmp_path, {"x": x, "e": exponents})
    with np.errstate(all="ignore"):
        wide, power = x.astype(np.float64), x.astype(np.float64) ** exponents.astype(np.float64)
        expected = {"less": np.expm1(wide), "more": np.log1p(wide), "power": power, "rest": np.fmod(x, exponents)}
        for name, values in expected.items():
            same(np.load(tmp_path / "out" / f"{name}.npy"), values.astype(np.float32))


@pytest.mark.parametrize("element, dtype", sample([("bf16", BF16), ("f16", np.dtype(np.float16))], 0))
def test_of_halves(element, dtype, tmp_path):
    """What a graph computes in 16 bits is rounded once for each operation."""
    t = f"tensor<?x19x{element}>"
    program = build(f"""
    func.func @main(%x: {t} {{moe.name = "x"}}, %e: {t} {{moe.name = "e"}}) -> ({t} {{moe.name = "sum"}}, {t} {{moe.name = "quotient"}}, {t} {{moe.name = "exp"}}) {{
      %sum = arith.addf %x, %e : {t}
      %quotient = arith.divf %sum, %e : {t}
      %exp = math.exp %e : {t}
      return %sum, %quotient, %exp : {t}, {t}, {t}
    }}""", tmp_path)
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x, e = (np.stack([SPECIAL, *random.normal(size=(9, 19)) * 3]).astype(dtype) for _ in range(2))
        total = x + e
        expected = {"sum": total, "quotient": total / e, "exp": np.exp(e.astype(np.float64)).astype(np.float32).astype(dtype)}
    call(program, tmp_path, {"x": x, "e": e})
    for name, values in expected.items():
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{name}.npy").astype(np.float32), values.astype(np.float32))


def test_of_integers(tmp_path):
    """Quotients round down and up, signed and not, remainders have the dividend's sign, shifts keep theirs."""
    t = "tensor<?x7xi64>"
    program = build(f"""
    func.func @main(%x: {t} {{moe.name = "x"}}, %by: {t} {{moe.name = "by"}}, %bits: {t} {{moe.name = "bits"}})
        -> ({t} {{moe.name = "down"}}, {t} {{moe.name = "up"}}, {t} {{moe.name = "rest"}}, {t} {{moe.name = "half"}}, {t} {{moe.name = "unsigned"}}, {t} {{moe.name = "above"}}) {{
      %down = arith.floordivsi %x, %by : {t}
      %up = arith.ceildivsi %x, %by : {t}
      %rest = arith.remsi %x, %by : {t}
      %half = arith.shrsi %x, %bits : {t}
      %unsigned = arith.divui %x, %by : {t}
      %above = arith.ceildivui %x, %by : {t}
      return %down, %up, %rest, %half, %unsigned, %above : {t}, {t}, {t}, {t}, {t}, {t}
    }}""", tmp_path)
    numbers = np.array([-7, -2, -1, 1, 2, 7, 2**62])
    x, by = (part.copy() for part in np.broadcast_arrays(numbers[:, None], numbers))
    call(program, tmp_path, {"x": x, "by": by, "bits": np.abs(by) % 64})
    a, b = x.view(np.uint64), by.view(np.uint64)
    expected = {"down": x // by, "up": -(-x // by), "rest": np.fmod(x, by), "half": x >> (np.abs(by) % 64),
                "unsigned": (a // b).view(np.int64), "above": (a // b + (a % b != 0)).view(np.int64)}  # fmt: skip
    for name, values in expected.items():
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{name}.npy"), values)


SOFTPLUS = """
    %zero = arith.constant 0.0 : f32
    %size = math.absf %g : f32
    %down = arith.negf %size : f32
    %small = math.exp %down : f32
    %tail = math.log1p %small : f32
    %head = arith.maximumf %g, %zero : f32
    %own = arith.addf %head, %tail : f32"""
POWER = """
    %one = arith.constant 1.0 : f32
    %exponent = arith.constant 0.7 : f32
    %size = math.absf %g : f32
    %more = arith.addf %one, %size : f32
    %power = math.powf %more, %exponent : f32
    %own = math.expm1 %power : f32"""
ACTIVATIONS = {"softplus": (SOFTPLUS, lambda x: np.logaddexp(0, x)), "power": (POWER, lambda x: np.expm1((1 + np.abs(x)) ** 0.7))}


@pytest.mark.parametrize("name, element", sample(itertools.product(ACTIVATIONS, ["f32", "bf16"]), 0, 3))
def test_as_activation_of_a_layer(name, element, tmp_path):
    """A router with the root of softplus, experts whose gate has the activation, and their sum."""
    H, I, E, k = 48, 40, 4, 2  # noqa: E741
    region, activation = ACTIVATIONS[name]
    rows, logits, first, second = f"tensor<?x{H}x{element}>", f"tensor<?x{E}xf32>", f"tensor<{E}x{2 * I}x{H}x{element}>", f"tensor<{E}x{H}x{I}x{element}>"
    chosen, ids = f"tensor<?x{k}xf32>", f"tensor<?x{k}xi32>"
    program = build(f"""
    func.func @main(%x: {rows} {{moe.name = "x", moe.dims = ["tokens", ""]}}, %logits: {logits} {{moe.name = "logits", moe.dims = ["tokens", ""]}},
                    %first: {first} {{moe.name = "first"}}, %second: {second} {{moe.name = "second"}}) -> ({rows} {{moe.name = "y"}}) {{
      %weights, %ids = moe.gate %logits top_k({k}) score(sqrt_softplus) renormalize(sum) : {logits} -> {chosen}, {ids}
      %rows, %layout = moe.dispatch %x, %ids num_experts({E}) : {rows}, {ids} -> {rows}, !moe.layout<{E}>
      %o = moe.expert %rows, %layout, %first, %second gated {{
      ^bb0(%g: f32, %u: f32):{region}
        %v = arith.mulf %own, %u : f32
        moe.yield %v : f32
      }} : {rows}, !moe.layout<{E}>, {first}, {second} -> {rows}
      %y = moe.combine %o, %layout weights(%weights : {chosen}) : {rows}, !moe.layout<{E}> -> {rows}
      return %y : {rows}
    }}""", tmp_path)  # fmt: skip
    random = np.random.default_rng(1)
    dtype = BF16 if element == "bf16" else np.float32
    x, first, second = ((random.normal(size=size) / scale).astype(dtype).astype(np.float32) for size, scale in (((9, H), 1), ((E, 2 * I, H), 7), ((E, H, I), 6)))
    logits = random.normal(size=(9, E)).astype(np.float32)
    ids, weights = ref.gate(logits, k, score_function="sqrt_softplus", renormalization="sum")
    expected = np.zeros((9, H))
    for token, slot in np.ndindex(ids.shape):
        up = x[token].astype(np.float64) @ first[ids[token, slot]].T
        expected[token] += weights[token, slot] * ((activation(up[:I]) * up[I:]) @ second[ids[token, slot]].T)
    for seed in (1, 2):
        call(program, tmp_path, {"x": x, "logits": logits, "first": first, "second": second}, seed)
        actual = np.load(tmp_path / "out" / "y.npy")
        assert np.abs(actual - expected).max() <= (1e-5 if element == "f32" else 2**-6) * np.abs(expected).max()


GATES = {
    "softmax": ("score(softmax)", {}),
    "sparsemixer": ("score(sparsemixer) jitter(0.2)", {"score_function": "sparsemixer", "jitter": 0.2}),
    "near": ("score(sparsemixer) jitter(0.01) renormalize(sum) scale(1.5)", {"score_function": "sparsemixer", "jitter": 0.01, "renormalization": "sum", "scale": 1.5}),
    "after": ("score(sigmoid_after)", {"score_function": "sigmoid_after"}),
    "after_sum": ("score(sigmoid_after) renormalize(sum) eps(1.0e-9)", {"score_function": "sigmoid_after", "renormalization": "sum", "eps": 1e-9}),
    "bounded": ("score(sigmoid) renormalize(sum) eps(1.0e-9) least(2.0)", {"score_function": "sigmoid", "renormalization": "sum", "eps": 1e-9, "least": 2.0}),
    "bounded_after": ("score(sigmoid_after) renormalize(sum) least(2.0)", {"score_function": "sigmoid_after", "renormalization": "sum", "least": 2.0}),
}


@pytest.mark.parametrize("element", sample(["f32", "bf16"], 1))
def test_scores_of_gates(element, tmp_path):
    """Of several tokens and of none; a sum of weights is bounded in some rows and not in others."""
    E, k = 19, 3
    logits, chosen, ids = f"tensor<?x{E}x{element}>", f"tensor<?x{k}xf32>", f"tensor<?x{k}xi32>"
    calls = [f"%{name}:2 = moe.gate %logits top_k({k}) {words} : {logits} -> {chosen}, {ids}" for name, (words, _) in GATES.items()]
    names = [f'{chosen} {{moe.name = "{name}_w"}}, {ids} {{moe.name = "{name}_e"}}' for name in GATES]
    program = build(f"""
    func.func @main(%logits: {logits} {{moe.name = "logits", moe.dims = ["tokens", ""]}}) -> ({", ".join(names)}) {{
      {chr(10).join(calls)}
      return {", ".join(f"%{name}#0, %{name}#1" for name in GATES)} : {", ".join(f"{chosen}, {ids}" for _ in GATES)}
    }}""", tmp_path)  # fmt: skip
    # Of several sizes and signs, exact in bf16, never equal.
    places = np.random.default_rng(0).permuted(np.tile(np.arange(E), (33, 1)), axis=1)
    values = np.repeat([[0.125], [0.5], [0.5]], 11, axis=0) * (places - np.repeat([[18], [9], [4]], 11, axis=0))
    for tokens in (33, 0):
        x = values[:tokens].astype(np.float32)
        call(program, tmp_path, {"logits": x})
        for name, (_, options) in GATES.items():
            experts, weights = ref.gate(x, k, **options)
            np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{name}_e.npy"), experts, name)
            np.testing.assert_allclose(np.load(tmp_path / "out" / f"{name}_w.npy"), weights, rtol=1e-5, atol=1e-7, err_msg=name)
            if tokens and options.get("least"):
                sums = ref.gate(x, k, **{**options, "least": 0.0, "renormalization": "none"})[1].sum(axis=-1)
                assert (sums < options["least"]).any() and (sums > options["least"]).any()
