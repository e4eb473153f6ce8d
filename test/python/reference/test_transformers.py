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
    module.eval()
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


def test_router_that_clamps_the_sum():
    """The weights of two tokens sum to less than the bound."""
    module = router("ernie4_5_moe", moe_norm_min=0.9)
    logits, weights, ids = run(module)
    bias = module.moe_statics.e_score_correction_bias.double().numpy()[0]
    sums = gate(logits, K, bias=bias)[1].sum(axis=1)
    assert (sums < 0.9).any() and (sums > 0.9).any()
    assert_same(gate(logits, K, bias=bias, renormalization="sum", least=0.9), weights, ids)


@pytest.mark.parametrize("normalised", [True, False])
def test_sigmoid_after_the_choice(normalised):
    module = router("kolibri1", norm_topk_prob=normalised)
    logits, weights, ids = run(module)
    bias = module.e_score_correction_bias.double().numpy()
    options = {"renormalization": "sum" if normalised else "none"}
    assert_same(gate(logits, K, bias=bias, score_function="sigmoid_after", **options), weights, ids)


@pytest.mark.parametrize("jitter", [0.01, 0.3])
def test_sparse_mixer(jitter):
    logits, weights, ids = run(router("phimoe", router_jitter_noise=jitter))
    expected = gate(logits, 2, score_function="sparsemixer", jitter=jitter)
    assert_same(expected, weights, ids)
    assert jitter < 0.1 or (expected[1] < 0.9).any()


def test_deepseek_v4_router():
    module = router("deepseek_v4", routed_scaling_factor=1.5)
    logits, weights, ids = run(module)
    options = dict(score_function="sqrt_softplus", renormalization="sum", eps=1e-20, scale=1.5)
    assert_same(gate(logits, K, bias=module.e_score_correction_bias.double().numpy(), **options), weights, ids)
