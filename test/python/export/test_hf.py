"""The experts op against the eager experts of transformers."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig

from moe_mlir import UnsupportedError, activations, hf, reference
from moe_mlir.testing.families.models import small_model
from moe_mlir.testing.models import tiny_model, unit_gain


def experts_of(family, **changes):
    """The experts module of `family` alone, with weights of unit gain."""
    import importlib

    config = AutoConfig.for_model(family, hidden_size=24, intermediate_size=20, num_local_experts=6, **changes)
    config._experts_implementation = "eager"
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    kind = next(value for name, value in vars(module).items() if name.endswith("Experts"))
    out = kind(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in out.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    return out


def inputs(tokens, k=2, experts=6, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    ids = torch.rand(tokens, experts, generator=generator).argsort(dim=-1)[:, :k]
    return (
        torch.randn(tokens, 24, generator=generator).to(dtype),
        ids,
        torch.rand(tokens, k, generator=generator).to(dtype),
    )


def both(module, *args):
    hf.register()
    with torch.no_grad():
        expected = module(*args)
        module.config._experts_implementation = "moe_mlir"
        actual = module(*args)
        module.config._experts_implementation = "eager"
    return actual, expected


@pytest.mark.parametrize("family", ["mixtral", "gpt_oss"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("tokens", [0, 1, 33])
def test_op_equals_eager_to_the_last_bit(family, dtype, tokens):
    actual, expected = both(experts_of(family).to(dtype), *inputs(tokens, dtype=dtype))
    assert actual.dtype == dtype and torch.equal(actual, expected)


@pytest.mark.parametrize(
    "name, expected", [("silu", "silu"), ("gelu", "gelu"), ("gelu_pytorch_tanh", "gelu_tanh"), ("relu", "relu")]
)
def test_activation_is_found_by_its_values(name, expected):
    module = experts_of("mixtral", hidden_act=name)
    assert hf.expert_layout(module) == {
        "activation": expected,
        "gated": True,
        "interleaved": False,
        "transposed": False,
    }
    actual, eager = both(module, *inputs(9))
    assert torch.equal(actual, eager)


def test_gpt_oss_layout():
    layout = hf.expert_layout(experts_of("gpt_oss"))
    assert layout == {"activation": "swigluoai", "gated": True, "interleaved": True, "transposed": True}


def test_unsupported_variants_are_refused():
    module = experts_of("mixtral")
    module._is_expert_parallel = True
    with pytest.raises(UnsupportedError, match="sharded"):
        hf.expert_layout(module)


def test_a_norm_behind_each_expert():
    module = experts_of("mixtral")
    module.has_post_expert_norm = True
    module.post_expert_norm = torch.nn.RMSNorm(24)
    x, ids, weights = inputs(9)
    hf.register()
    with torch.no_grad():
        module.config._experts_implementation = "batched_mm"
        expected = module(x, ids, weights)
        module.config._experts_implementation = "moe_mlir"
        actual = module(x, ids, weights)
    assert torch.allclose(actual, expected, atol=1e-5)


def test_op_equals_the_oracle():
    from moe_mlir import ops

    generator = torch.Generator().manual_seed(2)
    x, ids, weights = inputs(21)
    for gated in (False, True):
        for transposed in (False, True):
            width = 40 if gated else 20
            w_in, w_out = (
                torch.randn(6, width, 24, generator=generator) / 5,
                torch.randn(6, 24, 20, generator=generator) / 5,
            )
            b_in, b_out = torch.randn(6, width, generator=generator), torch.randn(6, 24, generator=generator)
            for name in activations.names(gated):
                given = [w.transpose(1, 2).contiguous() if transposed else w for w in (w_in, w_out)]
                out = ops.experts(x, ids, weights, *given, b_in, b_out, name, gated, gated, transposed)
                arrays = [t.numpy() for t in (w_in, w_out, b_in, b_out)]
                oracle = reference.Experts(*arrays, activation=name, gated=gated, interleaved=gated)
                expected = reference.moe_layer_by_token(x.numpy(), ids.numpy(), weights.numpy(), oracle)
                assert np.allclose(out.numpy(), expected, atol=1e-4), (name, gated, transposed)


def test_ids_outside_contribute_nothing():
    from moe_mlir import ops

    x, ids, weights = inputs(5)
    module = experts_of("mixtral")
    args = (module.gate_up_proj, module.down_proj, None, None, "silu", True, False, False)
    with torch.no_grad():
        for outside in (-1, 6, 1000):
            changed = ids.clone()
            changed[:, 1] = outside
            assert torch.equal(
                ops.experts(x, changed, weights, *args), ops.experts(x, ids[:, :1], weights[:, :1], *args)
            )


def test_cast_keeps_the_rotary_frequencies():
    model = tiny_model("mixtral", dtype=torch.bfloat16)
    assert model.dtype == torch.bfloat16
    assert model.model.rotary_emb.inv_freq.dtype == torch.float32


@pytest.mark.parametrize("family,dtype", [("deepseek_v3", torch.bfloat16), ("gpt_oss", torch.float16)])
def test_cast_gives_the_types_of_loading(family, dtype, tmp_path):
    from transformers import AutoModelForCausalLM

    model = small_model(family)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=dtype)
    types = {name: tensor.dtype for name, tensor in hf.cast(model, dtype).state_dict().items()}
    assert types == {name: tensor.dtype for name, tensor in loaded.state_dict().items()}
    assert torch.float32 in types.values()


def test_unit_gain_reaches_transposed_experts():
    from transformers import AutoModelForCausalLM

    config = AutoConfig.for_model(
        "gpt_oss", hidden_size=32, intermediate_size=128, num_hidden_layers=1, num_local_experts=4, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, vocab_size=64,
    )  # fmt: skip
    model = unit_gain(AutoModelForCausalLM.from_config(config))
    _, module = hf.experts_modules(model)[0]
    assert module.down_proj.shape == (4, 128, 32) and abs(module.down_proj.std().item() * 128**0.5 - 1) < 0.05
