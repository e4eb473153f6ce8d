"""MoE layers alone, exported by plain torch.export without an extra file, against the NumPy oracle."""

import numpy as np
import pytest
import torch

from moe_mlir import Executable, ops, reference
from moe_mlir.executable import ExecutableError
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.full import sample
from moe_mlir.testing.margins import router_margin

EXPERTS, HIDDEN, INNER, K = 5, 24, 20, 2


class Layer(torch.nn.Module):
    """Softmax router with renormalisation and experts of any form; forward(x [T, H]) -> [T, H]."""

    def __init__(self, activation="silu", gated=True, interleaved=False, transposed=False, bias=False):
        super().__init__()
        self.form = (activation, gated, interleaved, transposed)
        generator = torch.Generator().manual_seed(0)
        width = 2 * INNER if gated else INNER

        def parameter(*shape, fan_in):
            values = torch.randn(shape, generator=generator) / fan_in**0.5
            return torch.nn.Parameter(
                values.transpose(-1, -2).contiguous() if transposed and len(shape) == 3 else values
            )

        self.router = torch.nn.Parameter(torch.randn(EXPERTS, HIDDEN, generator=generator) / HIDDEN**0.5)
        self.w_in = parameter(EXPERTS, width, HIDDEN, fan_in=HIDDEN)
        self.w_out = parameter(EXPERTS, HIDDEN, INNER, fan_in=INNER)
        self.b_in = parameter(EXPERTS, width, fan_in=1) if bias else None
        self.b_out = parameter(EXPERTS, HIDDEN, fan_in=1) if bias else None

    def forward(self, x):
        weights, ids = torch.softmax(torch.nn.functional.linear(x, self.router).float(), dim=-1).topk(K, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return ops.experts(x, ids, weights, self.w_in, self.w_out, self.b_in, self.b_out, *self.form)

    def logits(self, x):
        """Of the router, in float64."""
        return x.astype(np.float64) @ self.router.detach().numpy().astype(np.float64).T

    def oracle(self, x):
        """The same in NumPy."""
        activation, gated, interleaved, transposed = self.form

        def array(parameter):
            if parameter is None:
                return None
            values = parameter.detach().numpy()
            return values.swapaxes(-1, -2) if transposed and values.ndim == 3 else values

        logits = self.logits(x)
        if len(x):
            assert router_margin(logits, K).min() > 1e-4
        arrays = map(array, (self.w_in, self.w_out, self.b_in, self.b_out))
        experts = reference.Experts(*arrays, activation=activation, gated=gated, interleaved=interleaved)
        return reference.moe_layer(x, logits, experts, K, renormalization="sum")


def compile_layer(layer, folder):
    example = torch.zeros(7, HIDDEN)
    with torch.no_grad():
        program = torch.export.export(layer, (example,), dynamic_shapes={"x": {0: torch.export.Dim.AUTO}}, strict=False)
    torch.export.save(program, folder / "layer.pt2")
    return Executable(moe_compile(folder / "layer.pt2", folder / "layer"))


def check(layer, executable, tokens, seed=0):
    # Tokens whose choice rounding cannot change: a few of the drawn ones have a margin that is too small.
    drawn = np.random.default_rng((seed, tokens)).normal(size=(2 * tokens, HIDDEN)).astype(np.float32)
    x = drawn[router_margin(layer.logits(drawn), K) > 1e-4][:tokens] if tokens else drawn
    (out,) = executable.run({"x": x}).values()
    expected = layer.oracle(x)
    assert out.shape == expected.shape == (tokens, HIDDEN)
    if tokens:
        assert_close(out, expected)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    layer = Layer()
    return layer, compile_layer(layer, tmp_path_factory.mktemp("layer"))


@pytest.mark.parametrize("tokens", [0, 1, 2, 7, 63, 200])
def test_any_number_of_tokens(tokens, plain):
    check(*plain, tokens)


FORMS = [
    *(dict(activation=name, gated=True) for name in ("gelu", "gelu_tanh", "relu", "relu2")),
    *(dict(activation=name, gated=False) for name in ("silu", "gelu", "gelu_tanh", "relu", "relu2")),
    dict(activation="silu", gated=True, bias=True),
    dict(activation="relu", gated=False, transposed=True),
    dict(activation="silu", gated=True, interleaved=True),
    dict(activation="swigluoai", gated=True, interleaved=True, transposed=True, bias=True),
    dict(activation="swigluoai", gated=True),
]


@pytest.mark.parametrize("form", sample(FORMS, *range(0, len(FORMS), 2)), ids=lambda form: "-".join(map(str, form.values())))
def test_forms_of_experts(form, tmp_path):
    layer = Layer(**form)
    executable = compile_layer(layer, tmp_path)
    for tokens in (1, 33):
        check(layer, executable, tokens)


def test_generation_says_what_is_missing(plain):
    with pytest.raises(ExecutableError) as caught:
        plain[1].call("--ids", "--generate", "1 2 3")
    assert caught.value.exit_code == 1
    assert "--generate: the model keeps no cache" in caught.value.stderr
