"""A trace shows the schedule that stands in the text: which member runs which phase, whose rows it takes, and what goes to each rank. Another
schedule in the text is another trace, and no other bit."""

import json
import re

import numpy as np
import pytest
from edited import compile_text, substitute
from layer import Drawn, inputs_of, write
from overlap import Schedule, overlapped, scheduled, schedules_in, sequence_of, sequences_in
from traffic import overlapped_bytes, parts_of, traffic_of

from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

EXPERTS, K, HIDDEN = 8, 2, 256
FIRST = {2: Schedule(steps=(1, 1), chunk=4, slices=2), 4: Schedule(steps=(1, 1, 2), chunk=3, slices=2)}
# Of the text: what is edited, and into what.
EDITS = {"as written": [], "one step": [(r"steps = \[[^\]]*\]", "steps = [{ranks}]")], "four slices": [(r"slices = 2", "slices = 4")],
         "all of it": [(r"steps = \[[^\]]*\]", "steps = [1, {rest}]"), (r"slices = 2", "slices = 1"), (r"chunk = \d+", "chunk = 100")],
         "by part": [(r"chunk = \d+, steps = \[[^\]]*\]", "chunk = 5, order = part, steps = [1, 3, {ranks}]")],
         "pieces": [(r"\], slices", "], piece = 13, slices")],
         "pieces of parts": [(r"chunk = \d+", "chunk = 7, order = part"), (r"\], slices", "], piece = 6, slices")],
         "in three parts": [(r"<overlap, [^>]*>", "<parts = 3>")]}  # fmt: skip
CASES = [(2, name) for name in EDITS] + [(4, "as written"), (4, "all of it"), (4, "by part"), (4, "in three parts")]


def drawn(tokens, routing):
    return Drawn(EXPERTS, K, HIDDEN, 64, True, "bf16", tokens, routing)


LAYER = drawn(33, "random")
CALLS = [inputs_of(drawn(*case), 2, seed) for seed, case in enumerate([(96, "random"), (33, "random"), (70, "last rank"), (0, "random"), (9, "skip")])]
# Every source gives every expert two whole tiles, so that steps fall between sources.
CALLS[0]["ids"] = np.stack([(2 * np.arange(96) + j) % EXPERTS for j in range(K)], axis=1).astype(np.int32)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layer")
    return folder / "layer.mlir", [*write(LAYER, folder), "--target-cpu=x86-64-v3"]


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    """The outputs of one rank."""
    folder = tmp_path_factory.mktemp("expected")
    return outputs_of(compile_for(source[0], folder, 1, *source[1]), 1, CALLS, folder / "calls")


@pytest.fixture(scope="module")
def tile(source):
    """Rows of a tile of the first product."""
    text = overlapped(source[0], "ep=2", FIRST[2], *source[1])
    return int(re.search(r"func @experts_up_.*?row_tile \S+ max (\d+)", text, re.DOTALL)[1])


@pytest.mark.parametrize("ranks,edit", CASES, ids=lambda value: str(value).replace(" ", "-"))
def test_an_edited_schedule(ranks, edit, source, expected, tile, tmp_path):
    text = scheduled(source[0], f"ep={ranks}", FIRST[ranks], *source[1])
    for pattern, replacement in EDITS[edit]:
        text = substitute(pattern, replacement.format(ranks=ranks, rest=ranks - 1), text)
    [schedule] = schedules_in(text)
    done, program = compile_text(text, "scheduled", tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_bits(outputs_of(program, ranks, CALLS, tmp_path / "calls", "--trace", tmp_path / "trace.json"), expected)

    sequences, traffic = sequences_in(tmp_path / "trace.json", ranks), traffic_of(tmp_path / "trace.json", ranks)
    for rank in range(ranks):
        wanted, sent = [], []
        for call in CALLS:
            parts = parts_of(call["ids"], ranks)
            wanted += sequence_of(schedule, rank, parts, EXPERTS, tile)
            sent += overlapped_bytes(schedule, parts, LAYER)[rank]
        assert sequences[rank] == wanted
        assert traffic[rank] == sent
    if schedule.get("order") == "part":
        return
    # What the first call is for: a step's rows are those of its ranks, and of nobody else.
    ups = [sources for role, _, sources in sequences[0][: 1 + len(schedule["steps"])] if role == "up"]
    assert [len(sources) for sources in ups] == schedule["steps"] and ups[0][0] == 0


def test_threads_and_waits(source, tmp_path):
    """A thread's spans and waits follow each other, inside of their launch; together the threads run all blocks."""
    done, program = compile_text(overlapped(source[0], "ep=2", FIRST[2], *source[1]), "kernel", tmp_path)
    assert done.returncode == 0, done.stderr
    outputs_of(program, 2, CALLS[:2], tmp_path / "calls", "--trace", tmp_path / "trace.json", threads=2)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    within = lambda event, other: other["ts"] - 0.002 <= event["ts"] and event["ts"] + event["dur"] <= other["ts"] + other["dur"] + 0.002  # noqa: E731
    for pid in (1, 2):
        of = {kind: [e for e in events if e.get("cat") == kind and e["pid"] == pid] for kind in ("launch", "phase", "wait")}
        groups = [e for e in of["launch"] if " + " in e["name"]]
        assert len(groups) == 4
        for group in groups:
            spans = [e for e in of["phase"] if within(e, group)]
            assert {e["name"] for e in spans} == set(group["name"].split(" + "))
            assert sum(e["args"]["blocks"] for e in spans) == group["args"]["blocks"]
            assert {e["args"]["phase"] for e in spans} == {group["args"]["phase"]}
        for row in {e["tid"] for e in of["phase"]}:
            own = sorted((e for e in of["phase"] if e["tid"] == row), key=lambda e: e["ts"])
            assert all(before["ts"] + before["dur"] <= after["ts"] + 0.002 for before, after in zip(own, own[1:]))
        for wait in of["wait"]:
            if "number" in wait["args"]:
                assert any(within(wait, e) and e["tid"] == wait["tid"] and e["name"] == wait["args"]["kernel"] for e in of["phase"])
