"""Models that plain torch.export wrote with transformers' own experts: raised to MoE layers, and equal to PyTorch."""

import re

import ml_dtypes
import pytest
import torch
from transformers import GptOssConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts

from moe_mlir import Executable
from moe_mlir.testing.compare import assert_close, relative_error
from moe_mlir.testing.compiling import moe_compile, warnings_of
from moe_mlir.testing.full import sample
from moe_mlir.testing.inputs import random_tokens, screened_tokens
from moe_mlir.testing.models import build, tiny_model

IMPLEMENTATIONS = ["grouped_mm", "batched_mm"]
SMALL = dict(num_hidden_layers=1, vocab_size=97, hidden_size=48, num_attention_heads=3, num_key_value_heads=3, mlp_only_layers=[])
GPT_OSS = dict(
    SMALL, num_hidden_layers=2, head_dim=16, intermediate_size=40, num_local_experts=6, num_experts_per_tok=3, sliding_window=4,
    layer_types=["sliding_attention", "full_attention"], max_position_embeddings=64, pad_token_id=None, eos_token_id=2,
)


SINK = ("modeling_gpt_oss.py:N (model.model.layers.0.self_attn): 2 attention layers stay plain operations and will be slow; step "
        "'scores' of the pattern for this one does not match: they are joined with columns that no key has (an attention sink); "
        "-v lists all")


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def save(module, inputs, dynamic, path):
    """As somebody does who knows nothing of moe_mlir. `dynamic`: the dimensions of each input that may change.

    Returns the operators of the graph.
    """
    shapes = tuple({dim: torch.export.Dim.AUTO for dim in dims} for dims in dynamic)
    with torch.no_grad():
        program = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
    torch.export.save(program, path)
    return {str(node.target) for node in program.graph.nodes if node.op == "call_function"}


def assert_layers(path, count):
    """The graph has `count` MoE layers, of which the routers are part, and no weight is gathered anywhere."""
    moe_compile(path, path.with_suffix(".mlir"), "--to=graph")
    text = path.with_suffix(".mlir").read_text()
    for op in ("gate", "dispatch", "expert", "combine"):
        assert text.count(f" = moe.{op} ") == count, op
    for begin in text.split(" = moe.dispatch ")[1:]:
        assert "linalg" not in begin.split(" = moe.combine ")[0]


@pytest.mark.parametrize("family", sample(["mixtral", "qwen3_moe", "olmoe", "gpt_oss"], 3))
def test_logits(family, tmp_path):
    if family == "gpt_oss":
        model = build(GptOssConfig(**GPT_OSS))
        calls = [random_tokens(model, *shape, seed=0) for shape in ((2, 7), (3, 19))]
    else:
        model = tiny_model(family, **SMALL)
        calls = [screened_tokens(model, *shape)[0] for shape in ((2, 7), (1, 1))]
    with torch.no_grad():
        expected = [Logits(model)(torch.as_tensor(tokens)).numpy() for tokens in calls]
    for implementation, known in zip(IMPLEMENTATIONS, ("transformers.grouped_mm_fallback.default", "aten.bmm.default")):
        path = tmp_path / f"{implementation}.pt2"
        model.set_experts_implementation(implementation)
        operators = save(Logits(model), (torch.as_tensor(calls[0]),), [(0, 1)], path)
        assert known in operators and not any("moe_mlir" in name for name in operators)
        assert_layers(path, model.config.num_hidden_layers)
        # The attention of GPT-OSS has a sink, a logit without a key.
        assert [re.sub(r":\d+ ", ":N ", warning) for warning in warnings_of(path)] == [SINK] * (family == "gpt_oss")
        executable = Executable(moe_compile(path, tmp_path / implementation))
        for tokens, logits in zip(calls, expected, strict=True):
            [result] = executable.run({"input_ids": tokens}).values()
            assert_close(result, logits)


class Layer(torch.nn.Module):
    """GPT-OSS experts, with everything that experts can have, behind a router in float32."""

    def __init__(self, implementation, dtype):
        super().__init__()
        config = GptOssConfig(**GPT_OSS)
        config._experts_implementation = implementation
        self.experts = GptOssExperts(config).requires_grad_(False)
        generator = torch.Generator().manual_seed(0)
        for name, weight in self.experts.named_parameters():
            normal = torch.randn(weight.shape, generator=generator)
            weight.copy_(normal if name.endswith("bias") else normal / weight.shape[1] ** 0.5)
        self.experts.to(torch.bfloat16).to(dtype)

    def forward(self, x, logits):
        weights, ids = logits.softmax(-1).topk(3)
        return self.experts(x, ids, weights)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_bfloat16_layer(implementation, tmp_path):
    """PyTorch rounds products, biased products and every step of the activation; the layer rounds less."""
    generator, path = torch.Generator().manual_seed(1), tmp_path / "layer.pt2"
    x, logits = torch.randn((700, 48), generator=generator).bfloat16(), torch.randn((700, 6), generator=generator)
    layer = Layer(implementation, torch.bfloat16)
    operators = save(layer, (x[:5], logits[:5]), [(0,), (0,)], path)
    assert implementation == "batched_mm" or "aten._grouped_mm.default" in operators
    assert_layers(path, 1)
    executable = Executable(moe_compile(path, tmp_path / "layer"))
    [result] = executable.run({"x": x.float().numpy().astype(ml_dtypes.bfloat16), "logits": logits.numpy()}).values()
    with torch.no_grad():
        exact = Layer("eager", torch.float64)(x.double(), logits.double()).numpy()
        ours, theirs = relative_error(result, exact), relative_error(layer(x, logits).double().numpy(), exact)
    assert theirs > 1e-4
    assert ours <= theirs, f"relative error {ours:.3g}, PyTorch's {theirs:.3g}"
