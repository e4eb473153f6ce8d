"""Layers that gather their rows before the first product, as matrix registers want them: a member of the first group gathers them step by step. Here
vectors multiply them, on any processor."""

import re
import signal

import pytest
from edited import behind, compile_text, in_kernel, substitute, text_at, without
from layer import Drawn, inputs_of, write
from overlap import Schedule, gathered, overlapped, scheduled, schedules_in, sequence_of, sequences_in
from stopping import stopping
from test_overlapped_faults import survivors
from traffic import parts_of

import numpy as np

from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

EXPERTS = 8
LAYER = Drawn(EXPERTS, 2, 256, 64, True, "bf16", 33, "random")
TWO = Schedule(steps=(1, 1), chunk=4, slices=2)
SCHEDULES = [(2, TWO), (2, Schedule(steps=(2,), chunk=1, slices=1)), (2, Schedule(steps=(1, 2, 1), chunk=5, order="part", piece=7)), (2, Schedule(parts=4)),
             (4, Schedule(steps=(1, 1, 2), chunk=3, slices=4))]  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layer")
    return folder / "layer.mlir", [*write(LAYER, folder), "--target-cpu=x86-64-v3"]


def calls():
    drawn = [Drawn(EXPERTS, 2, 256, 64, True, "bf16", tokens, routing) for tokens, routing in
             ((33, "random"), (70, "skip"), (1, "random"), (70, "last rank"), (9, "nobody"), (0, "random"), (64, "one expert"))]  # fmt: skip
    return [inputs_of(layer, 2, seed) for seed, layer in enumerate(drawn)]


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    """What the layer gives on one rank, whose experts read rows in place."""
    folder = tmp_path_factory.mktemp("expected")
    path, flags = source
    return outputs_of(compile_for(path, folder, 1, *flags), 1, calls(), folder / "calls")


def compiled(text, level, folder):
    done, program = compile_text(text, level, folder)
    assert done.returncode == 0, done.stderr
    return program


def test_plain(source, expected, tmp_path):
    text = gathered(text_at("scheduled", source[0], "ep=2", *source[1]))
    assert_same_bits(outputs_of(compiled(text, "scheduled", tmp_path), 2, calls(), tmp_path / "calls"), expected)


@pytest.mark.parametrize("ranks,schedule", SCHEDULES, ids=str)
def test_overlapped(ranks, schedule, source, expected, tmp_path):
    """The bits of plain; the trace has the steps of the text, whose rows are awaited where they are gathered."""
    text = gathered(scheduled(source[0], f"ep={ranks}", schedule, *source[1]))
    program, [said] = compiled(text, "scheduled", tmp_path), schedules_in(text)
    assert_same_bits(outputs_of(program, ranks, calls() * 2, tmp_path / "threads", threads=3), expected * 2)
    assert_same_bits(outputs_of(program, ranks, calls(), tmp_path / "calls", "--trace", tmp_path / "trace.json"), expected)
    tile = int(re.search(r"kernel\.tiles = \[#kernel\.tiles<rows = (\d+)", text)[1])
    for rank, found in enumerate(sequences_in(tmp_path / "trace.json", ranks)):
        assert found == [each for call in calls() for each in sequence_of(said, rank, parts_of(call["ids"], ranks), EXPERTS, tile, is_gathered=True)]


def test_in_passes(source, expected, tmp_path):
    text = gathered(scheduled(source[0], "ep=2", TWO, "--windows=20000", *source[1]))
    assert "kernel.pass_tokens" in text
    assert_same_bits(outputs_of(compiled(text, "scheduled", tmp_path), 2, calls(), tmp_path / "calls"), expected)


UP = r"experts_up_\w+"
WITHOUT = {
    "wait for rows": (lambda text: in_kernel(r"gather_records_4", lambda k: without(r"kernel\.await", k), text), "reads 'rows', to which @send_chunks writes at the same time, but 'chunks came' is not awaited before"),
    "arrival of a record": (lambda text: in_kernel(r"gather_records_4", lambda k: without(r"kernel\.arrive", k), text), "awaits arrivals at its operand 5, where no launch before has arrived"),
    "wait for a step": (lambda text: in_kernel(UP, lambda k: without(r"kernel\.await_arrivals", k), text), "reads its operand 0, which @gather_records_4 writes at the same time"),
    "counters of this call": (lambda text: in_kernel("order_records_4", lambda k: without(r"memref\.store %c0_i32, %arg7", k), text), "arrives at the counters of its operand 8, which no launch has set to 0 since they were used"),
    "order": (lambda text: behind(r"kernel\.launch @gather_records_4\(", rf"kernel\.launch @{UP}\(", text), "awaits arrivals at its operand 5, but blocks of @gather_records_4 that arrive there do not start before"),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT)
def test_what_cannot_be_left_out(name, source, tmp_path):
    edit, message = WITHOUT[name]
    done, _ = compile_text(edit(overlapped(source[0], "ep=2", TWO, *source[1], edit=gathered)), "kernel", tmp_path)
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_a_silent_rank(source, tmp_path):
    """What gathers says whose rows did not come; the product that waits for it ends, too."""
    text = overlapped(source[0], "ep=2", TWO, *source[1], edit=gathered)
    program, words = compiled(stopping(text, ("send_chunks", "gather_records"), tmp_path), "runtime", tmp_path), []
    for name, array in calls()[0].items():
        np.save(tmp_path / f"{name}.npy", array)
        words += ["--input", f"{name}=@{tmp_path}/{name}.npy"]
    for place, waits in ((("send_chunks", 0), r"\"up: rows to experts\" \(gather_records_4, phase 1, flag \d+: chunk \d+ of its rows\)"), (("gather_records", 1), r"\"up: sums to tokens\" \(await_sums")):
        [said] = survivors(program, words, 2, 1, (*place, signal.SIGSTOP))
        assert re.search(rf"rank 0 waited 1 s for rank 1 in {waits}", said), said
