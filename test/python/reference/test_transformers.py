"""The oracle against the routers of transformers, which are an independent implementation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from transformers import AutoConfig  # noqa: E402

from moe_mlir.reference import Groups, gate  # noqa: E402

HIDDEN, EXPERTS, K = 24, 16, 4


def router(family, **changes):
    """A router of `family` with random weights."""
    import importlib

    sizes = {"hidden_size": HIDDEN, "num_experts_per_tok": K, "num_attention_heads": 2, "num_key_value_heads": 2}
    config = AutoConfig.for_model(family, **sizes, **changes)
    for name in ("num_local_experts", "num_experts", "n_routed_experts"):
        if hasattr(config, name):
            setattr(config, name, EXPERTS)
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    out = next(value for name, value in vars(module).items() if name.lower().endswith("topkrouter"))(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in [*out.parameters(), *out.buffers()]:
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / 2)
    return out


def run(module):
    x = torch.randn(50, HIDDEN, generator=torch.Generator().manual_seed(1)).double().float()
    with torch.no_grad():
        logits, weights, ids = module(x)
    return logits.double().numpy(), weights.double().numpy(), ids.numpy()


def assert_same(actual, weights, ids):
    """Equal, whatever the order of the slots."""
    order, expected = np.argsort(actual[0], axis=1), np.argsort(ids, axis=1)
    assert np.array_equal(np.take_along_axis(actual[0], order, 1), np.take_along_axis(ids, expected, 1))
    assert np.allclose(np.take_along_axis(actual[1], order, 1), np.take_along_axis(weights, expected, 1), atol=1e-6)


@pytest.mark.parametrize(
    "family, changes, options",
    [
        ("mixtral", {}, {"renormalization": "sum"}),
        ("qwen3_moe", {"norm_topk_prob": True}, {"renormalization": "sum"}),
        ("qwen3_moe", {"norm_topk_prob": False}, {}),
        ("olmoe", {}, {}),
        ("gpt_oss", {}, {"score_function": "softmax_after"}),
    ],
)
def test_softmax_routers(family, changes, options):
    logits, weights, ids = run(router(family, **changes))
    assert_same(gate(logits, K, **options), weights, ids)


def test_deepseek_v3_router():
    changes = dict(n_group=4, topk_group=2, norm_topk_prob=True, routed_scaling_factor=2.5)
    module = router("deepseek_v3", **changes)
    logits, weights, ids = run(module)
    options = dict(score_function="sigmoid", renormalization="sum", eps=1e-20, scale=2.5)
    bias = module.e_score_correction_bias.double().numpy()
    assert_same(gate(logits, K, bias=bias, groups=Groups(4, 2), **options), weights, ids)
