"""PyTorch's side of the benchmark: right calls, right count of their work."""

from array import array

import pytest
import torch
from moe_bench import work
from moe_bench.torch_worker import Handler

from moe_mlir.testing.models import tiny_model

CONTEXT = [[5, 6, 7, 8, 9], [9, 8, 7, 6, 5]]
TOKENS = [[1], [2]]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    tiny_model("qwen3_moe", max_position_embeddings=1024).save_pretrained(folder)
    return folder


def test_step_in_the_cache_equals_the_whole_sequence(checkpoint, tmp_path):
    handler = Handler(checkpoint, "float32", torch.get_num_threads())
    handler.prepare(CONTEXT, TOKENS, tmp_path / "logits")
    actual = torch.tensor(array("f", (tmp_path / "logits").read_bytes())).reshape(2, -1)
    model = tiny_model("qwen3_moe", max_position_embeddings=1024)
    with torch.no_grad():
        expected = model(torch.tensor([c + t for c, t in zip(CONTEXT, TOKENS)])).logits[:, -1]
    assert (actual - expected).abs().max() < 1e-4 * expected.abs().max()
    # Every timed call is the same call: the cache does not run on.
    for variant in handler.describe()["variants"]:
        for _ in range(2):
            handler.run(variant, 0.01)
        with torch.inference_mode():
            handler._rewind()
            again = handler._step(handler._tokens)[:, -1]
        assert (again - expected).abs().max() < 1e-4 * expected.abs().max()


def test_work_of_a_step():
    model = tiny_model("mixtral", num_hidden_layers=1, num_local_experts=4, num_experts_per_tok=4)
    config = model.config
    hidden, heads, kv_heads, d = config.hidden_size, config.num_attention_heads, config.num_key_value_heads, config.head_dim
    with torch.no_grad():
        result = work.count(model, lambda: model(torch.tensor([[1, 2, 3]]), logits_to_keep=1), 1, 0, 3)
    attention = hidden * d * (2 * heads + 2 * kv_heads)
    router = 4 * hidden
    experts = 4 * 3 * hidden * config.intermediate_size
    head = hidden * config.vocab_size
    assert result["flops"] == 2 * (3 * (attention + router + experts) + head) + 4 * heads * d * (1 + 2 + 3)
    assert result["bytes"] == 4 * (attention + router + experts + head + 3 * hidden + 2 * kv_heads * d * 3)


def test_unused_experts_are_not_read():
    model = tiny_model("mixtral", num_hidden_layers=1, num_local_experts=8, num_experts_per_tok=1)
    all_used = tiny_model("mixtral", num_hidden_layers=1, num_local_experts=8, num_experts_per_tok=8)

    def bytes_of(m):
        with torch.no_grad():
            return work.count(m, lambda: m(torch.tensor([[1]]), logits_to_keep=1), 1, 0, 1)["bytes"]

    assert bytes_of(all_used) - bytes_of(model) == 7 * 3 * model.config.hidden_size * model.config.intermediate_size * 4
