"""Attention of models without scaled_dot_product_attention in transformers: sinks as an operand of one op per layer."""

import numpy as np
import pytest
import torch

import moe_mlir
from moe_mlir.errors import MismatchError, UnsupportedError
from moe_mlir.exporting.replacements import attention as replacement
from moe_mlir.ops import attention
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compile_model, step_inputs, warnings_of
from moe_mlir.testing.families import small_model
from moe_mlir.testing.full import sample

FAMILIES = ["gpt_oss", "mimo_v2_flash", "granitemoe_swa", "flint"]


def model_of(family):
    """Sinks of several sizes, large enough that results without them are others."""
    model = small_model(family)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.copy_(torch.linspace(-1, 2, parameter.numel()))
    return model


def reference(query, key, value, mask, sinks, scale):
    """In float64, the sink as a further key whose value is zero."""
    group = query.shape[1] // key.shape[1]
    query, key, value = query.double(), key.double().repeat_interleave(group, 1), value.double().repeat_interleave(group, 1)
    scores = (scale * query @ key.transpose(2, 3)).masked_fill(~mask, -torch.inf)
    column = sinks.double().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ value


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_operator(dtype):
    draw = torch.Generator().manual_seed(0)
    random = lambda *shape: torch.randn(shape, generator=draw).to(dtype)  # noqa: E731
    query, key, value, sinks = random(2, 6, 5, 8), random(2, 2, 7, 8), random(2, 2, 7, 3), random(6)
    mask = torch.rand((2, 1, 5, 7), generator=draw) < 0.5
    mask[0, 0, 0] = False  # a query that sees nothing gives zeros
    arguments = (query, key, value, mask, sinks, 0.3)
    tolerance = {torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float64: 1e-12}[dtype]
    assert torch.allclose(attention(*arguments).double(), reference(*arguments), rtol=0, atol=tolerance)
    torch.library.opcheck(torch.ops.moe_mlir.attention.default, arguments, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("family", sample(FAMILIES, 0, 1))
def test_sinks_with_a_cache(family, tmp_path):
    model = model_of(family)
    before = model.config._attn_implementation
    executable = compile_model(model, tmp_path, max_cache_len=16)
    assert model.config._attn_implementation == before
    assert warnings_of(tmp_path / "model.pt2") == []
    graph = [str(node.target) for node in torch.export.load(tmp_path / "model.pt2").graph.nodes]
    layers = sum(name.endswith("sinks") for name, _ in model.named_parameters())
    assert layers and graph.count("moe_mlir.attention.default") == layers
    tokens = np.random.default_rng(0).integers(0, model.config.vocab_size, (2, 12))
    with torch.no_grad():
        expected = model(input_ids=torch.as_tensor(tokens), use_cache=False).logits.numpy()
    position, rows = 0, []
    for size in (5, 1, 1, 5):  # the windows are narrower than the text
        [logits] = executable.run(step_inputs(tokens[:, position : position + size], position)).values()
        rows.append(logits)
        position += size
    assert_close(np.concatenate(rows, axis=1), expected)


def test_another_function_than_the_models_is_caught(tmp_path, monkeypatch):
    """What is exported is compared with the model's own attention, not with ours."""
    forward = replacement.forward

    def halved(*arguments, s_aux=None, **options):
        return forward(*arguments, s_aux=None if s_aux is None else s_aux / 2, **options)

    monkeypatch.setattr(replacement, "forward", halved)
    with pytest.raises(MismatchError, match=r"the exported graph differs from the model .*: largest logit difference \d\S* "):
        moe_mlir.export(model_of("gpt_oss"), tmp_path / "m.pt2", max_cache_len=16)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("masked", [False, True])
def test_bias_beside_sinks(masked):
    draw = torch.Generator().manual_seed(0)
    query, key, value, bias = (torch.randn(shape, generator=draw) for shape in ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6), (2, 4, 3, 5)))
    mask = torch.rand((2, 1, 3, 5), generator=draw) < 0.7 if masked else torch.ones((2, 1, 3, 5), dtype=torch.bool)
    out, _ = replacement.forward(None, query, key, value, mask if masked else None, scaling=0.5, sinks=torch.arange(4.0), position_bias=bias)
    # A bias is a further column of queries whose keys are the positions.
    group = query.shape[1] // key.shape[1]
    query, key, value = query.double(), key.double().repeat_interleave(group, 1), value.double().repeat_interleave(group, 1)
    query = torch.cat([query, bias.double() / 0.5], -1)
    key = torch.cat([key, torch.eye(5, dtype=torch.float64).expand(2, 4, 5, 5)], -1)
    assert torch.allclose(out.transpose(1, 2).double(), reference(query, key, value, mask, torch.arange(4.0), 0.5), atol=1e-5)


def test_keys_that_an_indexer_chose():
    """Models hand them over to an implementation that they do not know; each query sees no others."""
    draw = torch.Generator().manual_seed(0)
    query, key = (torch.randn((2, 4, 3, 8), generator=draw) for _ in range(2))
    mask, indices = torch.ones((2, 1, 3, 3), dtype=torch.bool).tril(), torch.tensor([[[0, 2], [1, 2], [1, 2]], [[0, 1], [0, 2], [0, 2]]])
    out, _ = replacement.forward(None, query, key, key, mask, scaling=0.5, sinks=torch.arange(4.0), indices=indices)
    chosen = torch.tensor([[[1, 0, 1], [0, 1, 1], [0, 1, 1]], [[1, 1, 0], [1, 0, 1], [1, 0, 1]]], dtype=torch.bool)[:, None]
    assert torch.allclose(out.transpose(1, 2).double(), reference(query, key, key, mask & chosen, torch.arange(4.0), 0.5), atol=1e-6)


class Attention(torch.nn.Module):
    layer_idx = 3


@pytest.mark.parametrize(
    "options,text",
    [
        ({"s_aux": torch.zeros(2, 4)}, "'Attention' of layer 3 has sinks of shape [2, 4]; supported is one per head, [2]"),
        ({"softcap": 30.0}, "'Attention' of layer 3 caps its scores (softcap), which is not supported"),
        ({"s_aux": torch.zeros(2), "attention_mask": torch.zeros(1, 1, 3, 3)}, "'Attention' of layer 3 adds a mask of torch.float32"),
    ],
)
def test_what_is_refused(options, text):
    heads = torch.zeros(1, 2, 3, 4)
    with pytest.raises(UnsupportedError) as error:
        replacement.forward(Attention(), heads, heads, heads, **{"attention_mask": None, **options})
    assert str(error.value).startswith(text)


def test_the_layer_of_a_refusal_is_named(tmp_path, monkeypatch):
    """Sinks that a layer computes for every token: the path of its module stands in the line."""
    forward = replacement.forward

    def by_token(module, query, *arguments, s_aux=None, **options):
        return forward(module, query, *arguments, s_aux=s_aux.view(1, -1, 1, 1), **options)

    monkeypatch.setattr(replacement, "forward", by_token)
    with pytest.raises(UnsupportedError) as error:
        moe_mlir.export(model_of("gpt_oss"), tmp_path / "m.pt2", max_cache_len=16)
    text = str(error.value)
    assert "of layer 0 has sinks of shape [1, " in text and "only layers whose sinks do not depend on the token" in text and "\n" not in text
    assert "; in model.layers.0.self_attn (GptOssAttention, modeling_gpt_oss.py:" in text
