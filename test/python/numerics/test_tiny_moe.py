"""The trained example model: its greedy text is PyTorch's."""

import numpy as np
import pytest
import torch

from moe_mlir.exporting.load import load_model
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compile_model, step_inputs
from moe_mlir.testing.observe import greedy, observe
from moe_mlir.testing.paths import ROOT, TINY_MOE

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


@pytest.mark.parametrize("penalty", [1.1, 1.5])
def test_repetition_penalty_is_that_of_transformers(penalty, tiny):
    model, executable = tiny
    prompt, eos = torch.tensor([list(PROMPT)]), model.config.eos_token_id
    whole = model.generate(prompt, do_sample=False, repetition_penalty=penalty, max_new_tokens=60, pad_token_id=eos)
    expected = bytes(token for token in whole[0, len(PROMPT) :].tolist() if token != eos)
    assert len(expected) > 20
    assert executable.generate(PROMPT, repetition_penalty=penalty, max_new_tokens=60) == expected != executable.generate(PROMPT, max_new_tokens=60)


def test_logits(tiny):
    model, executable = tiny
    tokens = np.frombuffer(PROMPT * 8, dtype=np.uint8).astype(np.int64)[None]
    assert_close(executable.run(step_inputs(tokens))["logits"], observe(model, tokens).logits)


def load_of_experts(model, chosen):
    """Of each layer, the rows of each expert."""
    return [np.bincount(ids.ravel(), minlength=model.config.num_local_experts) for ids in chosen]


@pytest.mark.parametrize("source", ["LICENSE", "examples/tiny-moe/train.py", "examples/tiny-moe/config.json"])
def test_routing_is_uneven(source, tiny):
    model, _ = tiny
    tokens = np.frombuffer((ROOT / source).read_bytes()[:512], dtype=np.uint8).astype(np.int64)[None]
    for counts in load_of_experts(model, observe(model, tokens).chosen):
        assert counts.max() > 2 * counts.mean()


def test_routing_of_its_own_text_is_uneven(tiny):
    model, _ = tiny
    _, seen = greedy(model, list(PROMPT), 200)
    for counts in load_of_experts(model, seen.chosen):
        assert counts.max() > 2 * counts.min() and counts.max() > 1.25 * counts.mean()
