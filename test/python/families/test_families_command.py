"""scripts/families: a family that crashes or hangs is a row; what is counted and what is said about it."""

import contextlib
import multiprocessing
import os
import re
import signal
import time
from types import SimpleNamespace

import pytest
import torch

from moe_mlir.testing.families.__main__ import main
from moe_mlir.testing.families.cycle import SPLIT_MATTERS, compare, one_line, plain_layers, too_few
from moe_mlir.testing.families.layers import expected_layers, layers_in
from moe_mlir.testing.families.process import process_row

FORK = multiprocessing.get_context("fork")


def hang(sender):
    time.sleep(60)


def end(code, sender):
    os._exit(code)


def kill(sender):
    os.kill(os.getpid(), signal.SIGKILL)


def answer(value, sender):
    sender.send(value)


@pytest.mark.parametrize("work, arguments, timeout, line", [
    (hang, (), 0.2, "takes more than 0.2 s"), (end, (3,), 60, "its process ended with code 3"), (kill, (), 60, "its process ended with code -9")])
def test_bad_ends_are_rows(work, arguments, timeout, line):
    row = process_row(FORK, "x", work, arguments, timeout)
    assert row["missing"] == [line] and not row["equal"] and not row["raised"] and row["family"] == "x"


def test_an_answer_is_the_row():
    assert process_row(FORK, "x", answer, ({"a": 1},), 60) == {"a": 1}


def test_layers_are_counted():
    graph = """
      %w, %e = moe.gate %l top_k(2)
      %y = moe.expert %r, %layout
      %z = moe.expert %r, %layout
      moe.expert_like
      %a = nn.attention %q, %k, %v
      %b = nn.attention.other %q"""
    assert layers_in(graph) == {"gates": 1, "experts": 2, "attention": 1, "scans": 0, "convolutions": 0}
    assert too_few({"gates": 1, "experts": 2}, {"gates": 2, "experts": 2}) == {"gates": "1 of 2 gates"}


def test_plain_layers_are_told_once_each():
    graph = """func.func @main(%x: f32) attributes {moe.plain = [{kind = "router", layer = "a", place = "m.py:1", reason = "why \\"x\\"", step = "s"},
    {kind = "router", layer = "b", place = "m.py:1", reason = "why \\"x\\"", step = "s"}, {kind = "norm", place = "n.py:2", reason = "r [1]", step = "t"}]} {"""
    assert plain_layers(graph) == ['2 router plain, s: why \\"x\\"', "1 norm plain, t: r [1]"]


@pytest.mark.parametrize("family, counts", [
    ("ernie4_5_moe", (1, 1, 2, 0, 0)), ("jamba", (2, 2, 1, 3, 3)), ("nemotron_h", (1, 1, 1, 1, 1)), ("lfm2_moe", (2, 2, 1, 0, 2)),
    ("llama4_text", (2, 2, 4, 0, 0)), ("qwen3_next", (2, 2, 1, 2, 2))])
def test_layers_of_a_configuration(family, counts):
    from moe_mlir.testing.families import small_model

    assert tuple(expected_layers(small_model(family)).values()) == counts


def test_messages_have_no_folders():
    assert one_line("cannot read '/tmp/a/b.pt2':\n  at /x/y/models/m.py:3") == "cannot read 'b.pt2': at m.py:3"
    assert len(one_line("word " * 400)) < 710


def test_unknown_family_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--only", "mixtrol"])
    assert ended.value.code == 2
    assert "there is no family 'mixtrol'; known are: " in capsys.readouterr().err


class Split(torch.nn.Module):
    """Logits that count the tokens of a call, as a router that mixes them would."""

    def __init__(self, mixes, vocabulary=16):
        super().__init__()
        self.mixes, self.config = mixes, SimpleNamespace(vocab_size=vocabulary, get_text_config=lambda: self.config)

    def forward(self, input_ids, past_key_values=None, use_cache=True):
        logits = torch.nn.functional.one_hot(input_ids, self.config.vocab_size).float()
        logits = logits * input_ids.shape[1] if self.mixes else logits
        return SimpleNamespace(logits=logits, past_key_values=())


class Runs(contextlib.nullcontext):
    """An executable that answers as a model does, or `off` by something in pieces of `size`."""

    def __init__(self, model, size=0, off=0.0):
        super().__init__()
        self.model, self.size, self.off = model, size, off

    def reset(self):
        pass

    def run(self, inputs):
        tokens = torch.tensor(inputs["input_ids"])
        logits = self.model(tokens).logits.numpy()
        return {"logits": logits + self.off * (tokens.shape[1] == self.size)}


def test_models_whose_answers_depend_on_pieces_are_compared_in_the_same_pieces():
    assert compare(Split(False), Runs(Split(False))) == (True, None)
    assert compare(Split(True), Runs(Split(True))) == (True, SPLIT_MATTERS)


@pytest.mark.parametrize("mixes", [False, True])
@pytest.mark.parametrize("size, pieces", [(8, "8"), (3, r"5\+3")])
def test_other_logits_are_told_with_their_pieces(mixes, size, pieces):
    equal, remark = compare(Split(mixes), Runs(Split(mixes), size, 0.5))
    assert not equal and re.search(f"batch 2, prompt in pieces of {pieces}$", remark)


def test_an_executable_that_ignores_pieces_is_not_excused():
    assert not compare(Split(True), Runs(Split(False)))[0] and not compare(Split(False), Runs(Split(True)))[0]
