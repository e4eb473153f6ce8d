"""PyTorch's side of the benchmark of families: torch.compile has few graphs for many steps, and what it computes is what plain calls compute."""

from array import array

import pytest
import torch
from moe_bench.families.configurations import configuration
from moe_bench.families.torch_worker import COMPILED, Handler

from moe_mlir.testing.models import build

SMALL = {
    "vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 4,
    "num_experts_per_tok": 2, "intermediate_size": 16, "sliding_window": 6,
}  # fmt: skip
CONTEXT, TOKENS = [[1, 2, 3, 4, 5, 6, 7, 8]], [[9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    build(configuration("gpt-oss", **SMALL)).save_pretrained(folder)
    return folder


@pytest.fixture
def graphs(monkeypatch):
    """What torch.compile has compiled: graphs that run as they are, since only their number counts here."""
    compiled, compile = [], torch.compile

    def backend(module, inputs):
        compiled.append(module)
        return module.forward

    monkeypatch.setattr(torch, "compile", lambda function, **options: compile(function, backend=backend, **options))
    return compiled


def test_steps_in_a_window_share_their_code(checkpoint, graphs, tmp_path):
    """A layer with a window counts its tokens in Python: code for one count alone would be given up after eight steps."""
    handler = Handler(checkpoint, "float32", torch.get_num_threads(), compile_seconds=3000)
    assert handler.describe()["variants"] == ("eager", "grouped_mm", COMPILED)
    assert handler.prepare(CONTEXT, TOKENS, tmp_path / "logits")["unavailable"] == {}
    assert 1 <= len(graphs) <= 2
    assert handler.run(COMPILED, 0.001)["calls"] >= 1 and len(graphs) <= 2
    expected = torch.tensor(array("f", (tmp_path / "logits").read_bytes()))
    handler._use(COMPILED)
    with torch.inference_mode():
        assert (handler._call(COMPILED)[0, -1] - expected).abs().max() < 1e-4 * expected.abs().max()


def test_without_time_to_compile_there_are_plain_calls(checkpoint):
    assert Handler(checkpoint, "float32", 1).describe()["variants"] == ("eager", "grouped_mm")
