"""Compiled gates: G1, G3-G8, G25."""

import numpy as np
import pytest

from layer_cases import Gate
from layer_program import BF16, DTYPES, Graph, tensor_type

EXPERTS = 8
GATES = {
    # G1: any k, more than E is E
    **{f"k{k}": Gate(k) for k in (1, 2, 3, 5, 8, 11)},
    # G3, G4, G8
    **{f"{score}_{mode}": Gate(3, score=score, renormalize=mode)
       for score in ("softmax", "softmax_after", "sigmoid", "sigmoid_after", "sqrt_softplus") for mode in ("none", "before")},
    "sparsemixer": Gate(3, score="sparsemixer", jitter=0.2),
    "sparsemixer_near": Gate(2, score="sparsemixer", jitter=0.01, renormalize="sum", scale=1.5),
    # G5, without and with drops
    **{f"{mode}_{'drop' if capacity else 'all'}": Gate(2, renormalize=mode, p=p, capacity=capacity)
       for mode, p in (("none", None), ("sum", None), ("before", None), ("after", None), ("pnorm", 2.0))
       for capacity in (None, (0.75, "deepspeed"))},
    "pnorm1": Gate(3, renormalize="pnorm", p=1.0),
    "pnorm3": Gate(3, renormalize="pnorm", p=3.0),
    **{f"one_{mode}": Gate(1, renormalize=mode, score="sigmoid") for mode in ("sum", "before", "after")},
    "least": Gate(2, score="sigmoid", renormalize="sum", eps=1e-9, least=0.9),
    "scale": Gate(2, renormalize="after", scale=2.5, capacity=(0.75, "deepspeed")),
    # G7
    "bias": Gate(2, score="sigmoid", bias="f32"),
    "bias_after": Gate(2, score="sigmoid_after", bias="f32", renormalize="sum"),
    "groups_max": Gate(2, groups=(4, 2, "max")),
    "deepseek": Gate(3, score="sigmoid", bias="f32", groups=(4, 2, "top2_sum"), renormalize="sum", eps=1e-20, scale=2.5),
    # G25
    "ids32": Gate(3, ids="i32", renormalize="sum", eps=1e-20),
    "ids64": Gate(3, ids="i64", score="sigmoid"),
    "ids_after": Gate(3, ids="i32", score="softmax_after"),
    "ids_sigmoid_after": Gate(3, ids="i64", score="sigmoid_after"),
    "ids_sparsemixer": Gate(3, ids="i32", score="sparsemixer", jitter=0.3),
    "ids_drop": Gate(3, ids="i32", renormalize="after", capacity=(0.5, "megablocks")),
}


@pytest.fixture(scope="module")
def program():
    graph = Graph()
    logits = graph.input("logits", "f32", "t", EXPERTS)
    for name, gate in GATES.items():
        weights, ids, _ = gate.write(graph, logits, EXPERTS, name)
        k = min(gate.k, EXPERTS)
        graph.output(f"{name}_w", weights, gate.dtype, "t", k)
        graph.output(f"{name}_e", ids, "i32", "t", k)
    return graph.compile()


def make_inputs(logits, seed=0):
    rng = np.random.default_rng(seed)
    inputs = {"logits": logits.astype(np.float32)}
    for name, gate in GATES.items():
        if gate.bias:
            inputs[f"{name}_bias"] = rng.standard_normal(EXPERTS).astype(np.float32)
        if gate.ids:
            ids = np.argsort(rng.random(logits.shape), axis=1)[:, : gate.k]
            inputs[f"{name}_ids"] = np.where(rng.random(ids.shape) < 0.2, -1, ids).astype(DTYPES[gate.ids])
    return inputs


def check(program, inputs):
    outputs = program.run(inputs)
    for name, gate in GATES.items():
        ids, weights = gate.reference(inputs["logits"].astype(np.float64), inputs.get(f"{name}_bias"),
                                      inputs.get(f"{name}_ids"))
        assert np.array_equal(outputs[f"{name}_e"], ids), name
        assert outputs[f"{name}_w"].shape == weights.shape, name
        assert np.allclose(outputs[f"{name}_w"], weights, rtol=2e-6, atol=1e-7), name
    return outputs


@pytest.mark.parametrize("tokens", [0, 1, 2, 33])
def test_gates_against_the_oracle(program, tokens):
    check(program, make_inputs(2 * np.random.default_rng(tokens).standard_normal((tokens, EXPERTS)), tokens))


def test_order_of_softmax_and_choice(program):
    """G3, G4: the order shows only in weights that are not renormalised."""
    out = check(program, make_inputs(np.random.default_rng(1).standard_normal((9, EXPERTS))))
    assert np.abs(out["softmax_none_w"] - out["softmax_after_none_w"]).max() > 0.01
    assert np.allclose(out["softmax_before_w"], out["softmax_after_before_w"], rtol=1e-6)
    assert (out["softmax_none_w"].sum(1) < 0.999).all()


def test_ties_go_to_the_lower_expert(program):
    logits = np.zeros((3, EXPERTS))
    logits[1, [2, 6]] = 1
    logits[2, [5, 3]] = [1, 1]
    out = check(program, make_inputs(logits))
    assert out["k3_e"].tolist() == [[0, 1, 2], [2, 6, 0], [3, 5, 0]]


def test_large_and_small_logits(program):
    """Nothing overflows, and what is tiny is not zero."""
    logits = np.array([[88.0, -88, 0, 1, 2, 3, 4, 5], [1000, 999, 998, -1000, 0, 1, 2, 3],
                       [-80, -81, -82, -83, -84, -85, -86, -87]])
    rows = program.run(make_inputs(logits))
    for name in ("k2", "softmax_after_none", "sigmoid_before", "sqrt_softplus_none", "sigmoid_after_none"):
        ids, weights = GATES[name].reference(logits)
        assert np.isfinite(rows[f"{name}_w"]).all(), name
        # sigmoid(1000) and sigmoid(999) are both 1 in f32: the choice is compared where scores differ.
        distinct = [2] if name.startswith("sigmoid") else [0, 1, 2]
        assert np.array_equal(rows[f"{name}_e"][distinct], ids[distinct]), name
        assert np.allclose(rows[f"{name}_w"][distinct], weights[distinct], rtol=1e-5, atol=1e-30), name


def test_bias_changes_the_choice_and_not_the_weights(program):
    """G7: where bias and no bias choose the same expert, its weight is that of the scores."""
    inputs = make_inputs(np.random.default_rng(3).standard_normal((40, EXPERTS)))
    out = check(program, inputs)
    plain, biased = GATES["ids64"], out["bias_e"]
    scores = plain.reference(inputs["logits"].astype(np.float64), ids=np.tile(np.arange(EXPERTS), (40, 1)))[1]
    assert np.allclose(out["bias_w"], np.take_along_axis(scores, biased, 1), rtol=2e-6)
    inputs["bias_bias"] = np.zeros(EXPERTS, np.float32)
    assert not np.array_equal(program.run(inputs)["bias_e"], biased)


def test_choice_stays_in_the_kept_groups(program):
    out = check(program, make_inputs(np.random.default_rng(4).standard_normal((50, EXPERTS))))
    for name in ("groups_max", "deepseek"):
        groups = GATES[name].groups
        size = EXPERTS // groups[0]
        assert all(len(set(row // size)) <= groups[1] for row in out[f"{name}_e"])


def test_given_ids_are_returned(program):
    """G25: what comes in goes out, -1 with weight 0."""
    inputs = make_inputs(np.random.default_rng(5).standard_normal((30, EXPERTS)))
    out = check(program, inputs)
    for name in ("ids32", "ids64", "ids_after", "ids_sigmoid_after", "ids_sparsemixer"):
        assert np.array_equal(out[f"{name}_e"], inputs[f"{name}_ids"])
        assert (out[f"{name}_w"][out[f"{name}_e"] == -1] == 0).all()
    assert (inputs["ids32_ids"] == -1).any()


# ---- golden values of G5: probabilities 0.6 and 0.2, slot 1 of token 0 kept or dropped ------------------------------

GOLDEN = {"none": (0.6, 0.2), "before": (0.75, 0.25), "after": (0.75, 0.25), "pnorm": (0.94868, 0.31623)}
GOLDEN_DROPPED = {"none": 0.6, "before": 0.75, "after": 1.0, "pnorm": 0.94868}


def test_golden_renormalisation():
    # First choices go first: token 1 takes the only place of expert 1, which is token 0's second choice.
    probabilities = np.array([[0.6, 0.2, 0.15, 0.05], [0.05, 0.6, 0.2, 0.15]])
    graph = Graph()
    logits = graph.input("logits", "f32", "t", 4)
    for mode in GOLDEN:
        for name, capacity in (("all", None), ("drop", (1.0, "megablocks"))):
            gate = Gate(2, renormalize=mode, p=2.0 if mode == "pnorm" else None, capacity=capacity)
            weights, ids, _ = gate.write(graph, logits, 4, mode + name)
            graph.output(f"{mode}_{name}_w", weights, "f32", "t", 2)
            graph.output(f"{mode}_{name}_e", ids, "i32", "t", 2)
    out = graph.compile().run({"logits": np.log(probabilities).astype(np.float32)})
    for mode, golden in GOLDEN.items():
        assert np.allclose(out[f"{mode}_all_w"][0], golden, atol=1e-5), mode
        assert out[f"{mode}_drop_e"].tolist() == [[0, -1], [1, 2]], mode
        assert np.allclose(out[f"{mode}_drop_w"][0], [GOLDEN_DROPPED[mode], 0], atol=1e-5), mode


# ---- G6: bf16 models route in f32 ------------------------------------------------------------------------------------


def test_bf16_router_decides_in_f32():
    """Logits whose difference bf16 cannot hold: a router with f32 logits sees it, and the gate keeps it."""
    graph = Graph()
    x, w = graph.input("x", "bf16", "t", 3), graph.input("w", "bf16", 4, 3)
    logits = graph.value()
    types = [tensor_type(*of) for of in (("bf16", ("t", 3)), ("bf16", (4, 3)), ("f32", ("t", 4)))]
    graph.add(f"{logits} = nn.linear {x}, {w} : {types[0]}, {types[1]} -> {types[2]}")
    weights, ids, _ = Gate(2, score="softmax_after").write(graph, logits, 4, "gate")
    graph.output("w_out", weights, "f32", "t", 2)
    graph.output("e", ids, "i32", "t", 2)
    w_value = np.array([[8, 0, 0], [8, 0.0078125, 0], [8, 0, 0.0078125], [8, 0.0078125, 0.0078125]]).astype(BF16)
    x_value = np.array([[1, 1, 1], [1, 1, 0.5], [1, -1, 1], [1, -1, -0.5]]).astype(BF16)
    out = graph.compile().run({"x": x_value, "w": w_value})
    exact = x_value.astype(np.float64) @ w_value.astype(np.float64).T
    assert len(set(exact.astype(BF16).ravel().tolist())) == 1, "the logits differ in bf16 already"
    expected, values = Gate(2, score="softmax_after").reference(exact)
    assert np.array_equal(out["e"], expected)
    assert np.allclose(out["w_out"], values, rtol=1e-6)


def test_gate_of_bf16_logits():
    """Scores and weights are f32 and rounded once, to the type of the result."""
    graph = Graph()
    gate = Gate(3, renormalize="sum", dtype="bf16")
    weights, ids, _ = gate.write(graph, graph.input("logits", "bf16", "t", 16), 16, "gate")
    graph.output("w", weights, "bf16", "t", 3)
    graph.output("e", ids, "i32", "t", 3)
    # Distinct values in every row, since ties of bf16 logits are frequent.
    rng = np.random.default_rng(8)
    logits = np.stack([rng.permutation(16) for _ in range(20)]) / 4
    out = graph.compile().run({"logits": logits.astype(BF16)})
    expected, values = gate.reference(logits)
    assert np.array_equal(out["e"], expected)
    # Half a bf16 ulp, and what f32 may add to it.
    assert (np.abs(out["w"].astype(np.float64) - values) <= values * (2.0**-9 * 1.001)).all()
