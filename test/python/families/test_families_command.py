"""scripts/families: a family that crashes or hangs is a row; what is counted and what is said about it."""

import multiprocessing
import os
import signal
import time

import pytest

from moe_mlir.testing.families.__main__ import main
from moe_mlir.testing.families.cycle import one_line, plain_layers, too_few
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
    assert len(one_line("word " * 200)) < 270


def test_unknown_family_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--only", "mixtrol"])
    assert ended.value.code == 2
    assert "there is no family 'mixtrol'; known are: " in capsys.readouterr().err
