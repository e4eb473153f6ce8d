"""Activations that are traced instead of looked up: the text, its value, and the compiled layer against PyTorch."""

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_hf import both, experts_of, inputs

from moe_mlir import Executable, UnsupportedError, activations, expressions, hf, tracing
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.full import sample


def trace(function, gated=True, dtype=torch.float32):
    return tracing.trace(function, gated, dtype, "experts of 'Layer'")


def to_numpy(tensor):
    return tensor.float().numpy().astype(ml_dtypes.bfloat16) if tensor.dtype == torch.bfloat16 else tensor.numpy()


def of_halves(function):
    return lambda pre: function(*pre.chunk(2, dim=-1))


def limited(gate, up):
    return F.silu(gate.clamp(max=10.0)) * up.clamp(min=-10.0, max=10.0)


def capped_first(pre):
    gate, up = (30 * torch.tanh(pre / 30)).chunk(2, dim=-1)
    return torch.sigmoid(gate) * up


GATED = {
    "limits": (of_halves(limited), "expr:(mul (silu (min gate 10.0)) (min (max up -10.0) 10.0))", False),
    "caps": (capped_first, "expr:(mul (sigmoid (mul (tanh (div gate 30.0)) 30.0)) (mul (tanh (div up 30.0)) 30.0))", False),
    "wide": (of_halves(lambda g, u: (F.silu(g.float()) * u.float()).to(g.dtype)), "silu", False),
    "turns": (lambda pre: torch.tanh(pre[..., ::2]) - pre[..., 1::2], "expr:(sub (tanh gate) up)", True),
    "constant": (of_halves(lambda g, u: 1 - g * torch.tensor(3.0) * u), "expr:(sub 1.0 (mul (mul gate 3.0) up))", False),
}
ALONE = {
    "mish": (F.mish, "expr:(mul up (tanh (softplus up)))"),
    "steep": (lambda x: F.softplus(x, beta=2.0), "expr:(div (softplus (mul up 2.0)) 2.0)"),
    "leaky": (lambda x: F.leaky_relu(x, 0.1), "expr:(add (relu up) (mul (min up 0.0) 0.1))"),
    "power": (lambda x: x.abs() ** 1.5, "expr:(pow (abs up) 1.5)"),
    "nothing": (lambda x: x, "expr:up"),
    "squared": (lambda x: torch.square(F.relu(x)), "relu2"),
}


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_traced_with_a_gate(name, dtype):
    function, text, interleaved = GATED[name]
    assert trace(function, dtype=dtype) == (text, interleaved)


@pytest.mark.parametrize("name", ALONE)
def test_traced_without_a_gate(name):
    function, text = ALONE[name]
    assert trace(function, gated=False) == (text, False)


@pytest.mark.parametrize(
    "function, operation",
    [
        (lambda x: x.softmax(-1), r"aten\._softmax"),
        (lambda x: x if x.max() > 0 else -x, r"aten\.max"),
        (lambda x: x if x[0, 0] > 0 else -x, r"aten\.gt\.Scalar"),
        (lambda x: x * torch.arange(float(x.shape[1])), r"aten\.mul\.Tensor with a tensor of 32 elements"),
        (lambda x: F.dropout(x, 0.5), r"aten\.empty_like"),
        (lambda x: x * 2 + x.mul(3).clamp_(0), r"aten\.clamp_, which changes a tensor in place"),
        (lambda x: x.bfloat16() * 2.5, r"aten\._to_copy to bfloat16, which is narrower than the weights"),
        (lambda x: x[:, :16], "a view that is neither a half nor every second column"),
        (lambda x: x * float("inf"), "the number inf"),
    ],
)
def test_what_is_no_arithmetic_on_elements_is_refused(function, operation):
    with pytest.raises(UnsupportedError, match=operation):
        trace(function, gated=False)


def test_a_wrong_trace_is_refused(monkeypatch):
    monkeypatch.setattr(tracing, "_SAME", (*tracing._SAME, "sign"))
    monkeypatch.setattr(expressions, "UNARY", (*expressions.UNARY, "sign"))
    monkeypatch.setattr(expressions, "_functions", lambda: {"sign": torch.tanh, "mul": torch.mul})
    with pytest.raises(UnsupportedError, match="another activation than what was traced of it: the largest difference"):
        trace(lambda x: torch.sign(x) * 2, gated=False)


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "character 0: the expression ends here"),
        ("(mul up", "character 7: the expression ends here"),
        ("(mish up)", "character 1: there is no operator 'mish'"),
        ("(mul up up up)", "character 11: expected \\) behind 2 operand"),
        ("up up", "character 3: expected the end"),
        ("(add up one)", "character 8: expected gate, up, a number"),
        ("(neg " * 65 + "up" + ")" * 65, "more than 64 nested"),
        ("up" + " " * 5000, "more than 4096 characters"),
    ],
)
def test_text_that_is_no_expression(text, why):
    with pytest.raises(UnsupportedError, match=why):
        expressions.parse(text)


@pytest.mark.parametrize("family, changes", [
    ("gpt_oss", {"swiglu_limit": 5.0}), ("mixtral", {"hidden_act": "tanh"}), ("hy_v4", {"swiglu_limit": 0.5}),
    ("deepseek_v4", {"swiglu_limit": 0.5}), ("beam", {}),
])  # fmt: skip
def test_modules_of_families(family, changes):
    sizes = {"num_experts": 6} if family == "beam" else {"n_routed_experts": 6} if family in ("hy_v4", "deepseek_v4") else {}
    module = experts_of(family, **({} if family in ("gpt_oss", "mixtral") else {"moe_intermediate_size": 20}), **sizes, **changes)
    layout = hf.expert_layout(module)
    assert layout["activation"].startswith("expr:") or family == "beam" and layout["activation"] == "silu"
    actual, expected = both(module, *inputs(9))
    assert torch.allclose(actual, expected, atol=1e-5)


class Layer(torch.nn.Module):
    def __init__(self, activation, gated, dtype):
        super().__init__()
        generator = torch.Generator().manual_seed(5)
        self.first = torch.nn.Parameter((torch.randn(6, 32 if gated else 16, 24, generator=generator) / 4).to(dtype))
        self.second = torch.nn.Parameter((torch.randn(6, 24, 16, generator=generator) / 4).to(dtype))
        self.rest = activation, gated, False, False

    def forward(self, x, ids, weights):
        from moe_mlir import ops

        return ops.experts(x, ids, weights, self.first, self.second, None, None, *self.rest)


# Together every operator, none where it has no value.
EVERY = ("expr:(add (max (mul (sigmoid gate) (gelu up)) (sub (erf gate) (tanh up))) (add (add (div (silu gate) (add 2.0 (abs up)))"
         " (sqrt (square (sin up)))) (add (add (min (exp (neg (relu gate))) (cos up)) (log (add 1.5 (expm1 (relu up)))))"
         " (add (add (softplus gate) (gelu_tanh gate)) (mul (pow (add 1.0 (abs up)) 0.7) (rsqrt (log1p (add 0.1 (abs gate)))))))))")


def test_the_expression_names_every_operator():
    assert all(f"({name} " in EVERY for name in (*expressions.UNARY, *expressions.BINARY))


@pytest.mark.parametrize("dtype, text, gated", sample([
    (dtype, *case) for dtype in (torch.float32, torch.bfloat16) for case in [(GATED["limits"][1], True), (EVERY, True), (ALONE["mish"][1], False)]
], 1, 5))  # fmt: skip
def test_compiled_layer_equals_pytorch(text, gated, dtype, tmp_path):
    layer, given = Layer(text, gated, dtype), inputs(7, dtype=dtype)
    with torch.no_grad():
        expected = layer(*given).float().numpy()
        program = torch.export.export(layer, given, dynamic_shapes=({0: torch.export.Dim.DYNAMIC},) * 3, strict=False)
    torch.export.save(program, tmp_path / "layer.pt2")
    executable = Executable(moe_compile(tmp_path / "layer.pt2", tmp_path / "layer"))
    names = program.graph_signature.user_inputs
    (out,) = executable.run(dict(zip(names, map(to_numpy, given), strict=True))).values()
    bound = 1e-5 if dtype == torch.float32 else 0.02
    assert np.abs(out.astype(np.float32) - expected).max() <= bound * np.abs(expected).max()


def test_eager_value_is_rounded_once():
    pre = torch.randn(64, 32, generator=torch.Generator().manual_seed(3)).bfloat16()
    gate, up = pre.chunk(2, dim=-1)
    wide = limited(gate.float(), up.float()).bfloat16()
    assert torch.equal(activations.apply(GATED["limits"][1], pre, True, False), wide)
