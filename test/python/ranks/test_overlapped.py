"""Exchanges under products, written by hand (overlap.py), give the plain program's bits, and none of their waits can be left out."""

import json
import subprocess

import numpy as np
import pytest
from edited import behind, compile_text, in_kernel, substitute, text_at, without
from layer import Drawn, inputs_of, write
from overlap import Schedule, overlapped

from moe_mlir.testing.ranks import assert_same_bits, outputs_of

LAYER = Drawn(8, 2, 128, 64, True, "bf16", 33, "random")
SCHEDULES = {
    "two steps": Schedule(steps=(1, 1), chunk=4, slices=2),
    "one step": Schedule(steps=(2,), chunk=4, slices=1),
    "one after the other": Schedule(steps=(1, 1), chunk=16, slices=2, joined=False),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The plain program's text at level kernel; one processor, so that tiles are known."""
    folder = tmp_path_factory.mktemp("plain")
    flags = write(LAYER, folder)
    return text_at("kernel", folder / "layer.mlir", "ep=2", *flags, "--target-cpu=x86-64-v3")


def calls():
    """Windows are used again by calls of other sizes; some ranks have no rows for the other one, or none at all."""
    drawn = [Drawn(8, 2, 128, 64, True, "bf16", tokens, routing) for tokens, routing in
             ((33, "random"), (70, "skip"), (1, "random"), (2, "one expert"), (70, "last rank"), (9, "nobody"), (0, "random"), (64, "random"))]  # fmt: skip
    return [inputs_of(layer, 2, seed) for seed, layer in enumerate(drawn)]


def compiled(text, folder):
    done, program = compile_text(text, "kernel", folder)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def expected(plain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    return outputs_of(compiled(plain, folder), 2, calls(), folder / "calls")


@pytest.mark.parametrize("name", SCHEDULES)
def test_bits_of_the_plain_program(name, plain, expected, tmp_path):
    program = compiled(overlapped(plain, SCHEDULES[name]), tmp_path)
    for threads in (1, 2, 3):
        assert_same_bits(outputs_of(program, 2, calls() * 3, tmp_path / f"calls{threads}", threads=threads), expected * 3)


def test_any_number_of_blocks(plain, expected, tmp_path):
    """More than there are threads, or one for each phase."""
    text = substitute(r"(@give_back.*?) phases", r"\1 single phases", overlapped(plain, SCHEDULES["two steps"]))
    text = substitute(r"(@experts_\w+\(.*?) phases", r"\1 blocks(5) phases", text, count=0)
    assert text.count("blocks(5)") == 2
    assert_same_bits(outputs_of(compiled(text, tmp_path), 2, calls(), tmp_path / "calls", threads=2), expected)


def test_a_group_is_one_launch_of_a_trace(plain, tmp_path):
    program = compiled(overlapped(plain, SCHEDULES["two steps"]), tmp_path)
    outputs_of(program, 2, calls()[:1], tmp_path / "calls", "--trace", tmp_path / "trace.json", threads=2)
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e.get("cat") == "launch" and e["pid"] == 1]
    groups = {e["name"]: e["args"] for e in events if " + " in e["name"]}
    assert list(groups) == ["send_chunks + experts_up_4x128x128_bf16_gated", "experts_down_4x128x64_bf16 + give_back"]
    assert [(g["blocks"], g["phase"]) for g in groups.values()] == [(2 + 2 * 2, "up: rows to experts"), (2 * 2 + 2 * 2, "up: sums to tokens")]


def product(which):
    return rf"experts_{which}_\w+"


WITHOUT = {
    "wait for rows": (lambda text: in_kernel(product("up"), lambda k: without(r"kernel\.await", k), text), "reads 'rows', to which @send_chunks writes at the same time, but 'rows came' is not awaited before"),
    "signal of rows": (lambda text: in_kernel("send_chunks", lambda k: without(r"kernel\.signal", k), text), "awaits 'rows came', which no launch has signalled since the last kernel.advance on @ep"),
    "wait for a slice": (lambda text: in_kernel("give_back", lambda k: without(r"kernel\.await_arrivals", k), text), "of @give_back reads its operand 0, which @experts_down_4x128x64_bf16 writes at the same time"),
    "arrival of a tile": (lambda text: in_kernel(product("down"), lambda k: without(r"kernel\.arrive", k), text), "of @give_back awaits arrivals at its operand 8, where no launch before has arrived"),
    "wait for sums": (lambda text: in_kernel("collect", lambda k: without(r"kernel\.await", k), text), "reads 'sums', which ranks put to, but 'sums came' is not awaited before"),
    "signal of sums": (lambda text: in_kernel("give_back", lambda k: without(r"kernel\.signal", k), text), "of @collect awaits 'sums came', which no launch has signalled since the last kernel.advance on @ep"),
    "counters of this call": (lambda text: in_kernel("order", lambda k: substitute(r"memref\.store %zero, %done.*", "", k), text), "arrives at the counters of its operand 5, which no launch has set to 0 since they were used"),
    "order of the first group": (lambda text: behind(r"kernel\.launch @send_chunks\(", rf"kernel\.launch @{product('up')}\(", text), "awaits 'rows came', but blocks of @send_chunks that signal it do not start before"),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT)
def test_what_cannot_be_left_out(name, plain, tmp_path):
    edit, message = WITHOUT[name]
    done, program = compile_text(edit(overlapped(plain, SCHEDULES["two steps"])), "kernel", tmp_path)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not program.exists()


def test_arrivals_that_do_not_come(plain, tmp_path):
    """One more than there are tiles: nobody counts them when the program is made."""
    text = in_kernel("give_back", lambda k: k.replace("reach %allTiles", "reach %more").replace(
        "    scf.forall (%d, %c)", "    %more = arith.addi %allTiles, %one : index\n    scf.forall (%d, %c)"), overlapped(plain, SCHEDULES["two steps"]))  # fmt: skip
    program = compiled(text, tmp_path)
    words = ["--ranks", "2", "--deadline", "1"]
    for name, array in calls()[2].items():
        np.save(tmp_path / f"{name}.npy", array)
        words += ["--input", f"{name}=@{tmp_path}/{name}.npy"]
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "a block of 'give_back' waited for arrivals that did not come, in up: sums to tokens" in done.stderr, done.stderr
