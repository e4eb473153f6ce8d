"""Configurations of families drawn at random against PyTorch: six here, 200 in `scripts/test --full` (scripts/families --drawn all)."""

import argparse
from types import SimpleNamespace

import pytest
import torch

from moe_mlir.testing.families.drawing import COUNT, FAMILIES, draw, run
from moe_mlir.testing.families.drawing.command import numbers
from moe_mlir.testing.families.drawing.inputs import MARGIN, Margins, NoTokens, tokens_with_margins
from moe_mlir.testing.full import FULL

# Small ones of different kinds: delta rules, Mamba, Kimi delta attention, lightning attention, convolutions and a bias of attention, experts that hand their
# input on. Short prompts, and some that are longer than chunks. What else they draw, other tests of an ordinary run compare in a family's usual sizes: Mamba-2
# and sinks test_family.py, indexers and complex rotary embeddings test_indexers.py and test_expert_modules.py of export/.
FEW = (62, 190, 37, 132, 195, 88)


@pytest.mark.parametrize("number", range(COUNT) if FULL else FEW)
def test_drawn_family(number, tmp_path):
    row = run.run_drawn(number, tmp_path)
    assert row["equal"], (row["missing"], row["drawn"])


def test_a_number_is_always_the_same_configuration():
    """Of every family, with calls that fit into its cache."""
    drawn = [draw(number) for number in range(COUNT)]
    assert drawn == [draw(number) for number in range(COUNT)]
    assert {d.family for d in drawn} == set(FAMILIES)
    assert len({repr(d.changes) for d in drawn}) == COUNT
    assert all(1 <= sum(pieces) <= d.cache_length and 0 not in pieces for d in drawn for _, pieces in d.calls)
    assert draw(3, attempt=1).changes != draw(3).changes


def test_what_pytorch_refuses_is_drawn_again(monkeypatch):
    made = []

    def small_model(family, seed, **changes):
        made.append(changes)
        if len(made) < 3:
            raise ValueError("no such thing")
        return constant_model(changes["vocab_size"])

    monkeypatch.setattr(run, "small_model", small_model)
    refused = []
    drawn, _, calls = run.accepted(7, refused)
    assert drawn == draw(7, attempt=2) and made[2] == drawn.changes
    assert refused == [f"{drawn.family}: ValueError: no such thing"] * 2
    assert [(len(tokens), tokens.shape[1], pieces) for tokens, pieces in calls] == [(b, sum(p), p) for b, p in drawn.calls]


def constant_model(vocabulary, scores=None):
    """Logits that say nothing; a router that chooses by `scores` [tokens, E]."""

    def model(input_ids, use_cache):
        if scores is not None:
            scores(input_ids).topk(2)
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, vocabulary))

    model.named_modules = lambda: []
    model.config = SimpleNamespace(get_text_config=lambda: SimpleNamespace(vocab_size=vocabulary))
    return model


def test_margins_are_those_of_the_choices():
    with Margins() as margins:
        torch.tensor([[4.0, 1.0, 3.0, 2.0]]).topk(4)
        assert margins.least == float("inf")
        torch.tensor([[4.0, 1.0, 3.0, 2.0]]).topk(2)
        assert margins.least == 0.25
        torch.topk(torch.tensor([[1.0, float("-inf"), float("-inf")]]), 1)
        assert margins.least == 0.25
        torch.topk(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), k=1, dim=0)
        assert margins.least == 0.0


def test_rows_with_close_choices_are_drawn_again():
    scores = lambda ids: torch.tensor([3.0, 2.0, 1.0]) + torch.where(ids[0, 0] < 8, torch.tensor([0.0, 0.0, 1.0 - MARGIN]), 0.0)  # noqa: E731
    tokens = tokens_with_margins(constant_model(16, scores), 3, 2, 16, seed=0)
    assert tokens.shape == (3, 2) and (tokens[:, 0] >= 8).all()
    with pytest.raises(NoTokens, match="flip"):
        tokens_with_margins(constant_model(16, lambda ids: torch.ones(1, 4)), 1, 2, 16, seed=0)


def test_numbers_of_the_command():
    assert numbers("3,9,20-22,3") == [3, 9, 20, 21, 22] and len(numbers("all")) == COUNT
    for text in ("", "a", "1-2-3", "1-", "20-10"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected numbers"):
            numbers(text)
