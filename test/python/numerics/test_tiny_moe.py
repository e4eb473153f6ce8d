"""The trained example model: its greedy text is PyTorch's."""

import numpy as np
import pytest
import torch

from moe_mlir.exporting.load import load_model
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compile_model, step_inputs
from moe_mlir.testing.observe import greedy, observe
from moe_mlir.testing.paths import TINY_MOE

PROMPT = b"The "


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    model = load_model(TINY_MOE, torch.float32)
    return model, compile_model(TINY_MOE, tmp_path_factory.mktemp("tiny-moe"), dtype="float32")


def test_greedy_text_of_200_tokens(tiny):
    model, executable = tiny
    ids, _ = greedy(model, list(PROMPT), 200)
    (stop,) = np.nonzero(ids == model.config.eos_token_id)
    expected = bytes(ids[: stop[0] if stop.size else None].tolist())
    assert executable.generate(PROMPT, max_new_tokens=200) == expected
    words = expected.decode().split()
    assert len(words) > 20 and sum(word.strip('.,"()').isalpha() for word in words) > 0.7 * len(words)


def test_logits(tiny):
    model, executable = tiny
    tokens = np.frombuffer(PROMPT * 8, dtype=np.uint8).astype(np.int64)[None]
    assert_close(executable.run(step_inputs(tokens))["logits"], observe(model, tokens).logits)


def test_routing_is_uneven(tiny):
    model, _ = tiny
    ids, seen = greedy(model, list(PROMPT), 200)
    for chosen in seen.chosen:
        counts = np.bincount(chosen.ravel(), minlength=model.config.num_local_experts)
        assert counts.max() > 2 * counts.min() and counts.max() > 1.25 * counts.mean()
