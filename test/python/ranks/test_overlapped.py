"""Exchanges under products give the plain program's bits, and none of their waits can be left out."""

import contextlib
import json
import os
import re
import subprocess

import numpy as np
import pytest
from edited import compile_text, substitute, text_at
from layer import Drawn, inputs_of, write
from left_out import LEFT_OUT
from overlap import Schedule, overlapped, scheduled

from moe_mlir.testing.compiling import compiler, export_model, step_inputs
from moe_mlir.testing.configurations import CACHE
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

LAYER = Drawn(8, 2, 256, 64, True, "bf16", 33, "random")
TWO = Schedule(steps=(1, 1), chunk=4, slices=2)
SCHEDULES = {
    2: [TWO, Schedule(steps=(2,), chunk=1, slices=1), Schedule(steps=(1, 2, 1), chunk=5, order="part"), Schedule(parts=4)],
    4: [Schedule(steps=(1, 1, 2), chunk=3, slices=4), Schedule(steps=(1, 3), chunk=100, piece=7), Schedule(parts=2)],
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The layer, and flags to compile it: one processor, so that tiles are known."""
    folder = tmp_path_factory.mktemp("layer")
    return folder / "layer.mlir", [*write(LAYER, folder), "--target-cpu=x86-64-v3"]


@pytest.fixture(scope="module")
def text(source):
    """The text at level kernel for two ranks in two steps."""
    path, flags = source
    return overlapped(path, "ep=2", TWO, *flags)


def calls():
    """Windows are used again by calls of other sizes; some ranks have no rows for the other one, or none at all."""
    drawn = [Drawn(8, 2, 256, 64, True, "bf16", tokens, routing) for tokens, routing in
             ((33, "random"), (70, "skip"), (1, "random"), (2, "one expert"), (70, "last rank"), (9, "nobody"), (0, "random"), (64, "random"))]  # fmt: skip
    return [inputs_of(layer, 2, seed) for seed, layer in enumerate(drawn)]


@contextlib.contextmanager
def on_cores(count):
    """Processes that are started inside have so many cores; None: all."""
    all_of_them = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, sorted(all_of_them)[:count])
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def compiled(text, folder):
    done, program = compile_text(text, "kernel", folder)
    assert done.returncode == 0, done.stderr
    return program


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    """What the layer gives on one rank."""
    folder = tmp_path_factory.mktemp("expected")
    path, flags = source
    return outputs_of(compile_for(path, folder, 1, *flags), 1, calls(), folder / "calls")


def operations(kernel, text):
    """The ops of a kernel from its row tile on."""
    body = re.search(rf"^  kernel\.func @{kernel}_.*?(kernel\.row_tile .*?)^  \}}", text, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"(?:= |^ *)(\w+\.\w+)", body, re.MULTILINE)


@pytest.mark.parametrize("target", ["--target-cpu=x86-64-v3", "--target-cpu=sapphirerapids", "--target=cuda:h200"])
def test_products_are_those_of_the_plain_kernels(target, source):
    """What stands in a row tile is the same; behind it a slice of the second product is announced."""
    path, (*flags, _) = source
    level = text_at("scheduled", path, "ep=2", *flags, target)

    def kernels(schedule):
        command = [compiler(), "-", "--from=scheduled", "--to=kernel", "-o", "-", "-q"]
        edited = substitute(r"schedule\(<.*?>\)", f"schedule({schedule})", level)
        return subprocess.run(command, input=edited, check=True, capture_output=True, text=True).stdout

    plain = kernels("<plain>")
    assert "kernel.launch_group" not in plain
    for schedule in SCHEDULES[2]:
        text = kernels(schedule)
        assert "kernel.mma" in operations("experts_up", text)
        assert operations("experts_up", text) == operations("experts_up", plain)
        *down, arrive, end = operations("experts_down", text)
        assert [*down, end] == operations("experts_down", plain) and arrive == "kernel.arrive"


@pytest.mark.parametrize("ranks,schedule", [*((ranks, schedule) for ranks, schedules in SCHEDULES.items() for schedule in schedules), (4, Schedule(steps=(4,), chunk=7, slices=1))], ids=str)
def test_bits_of_one_rank(ranks, schedule, source, expected, tmp_path):
    path, flags = source
    done, program = compile_text(scheduled(path, f"ep={ranks}", schedule, *flags), "scheduled", tmp_path)
    assert done.returncode == 0, done.stderr
    # Who waits makes room for whom it waits for, also where all ranks share a core.
    for threads, cores in ((1, 2), (3, None), (1, 1)):
        with on_cores(cores):
            assert_same_bits(outputs_of(program, ranks, calls() * 3, tmp_path / f"calls{threads}-{cores}", threads=threads), expected * 3)


def test_what_the_scheduler_finds(source, expected, tmp_path):
    """For a slow link; blocks of members say nothing on a CPU."""
    path, flags = source
    cluster = ["--cluster=L20", *flags]
    assert "send = " in re.search(r"schedule\(<overlap, (.*)>\)", text_at("scheduled", path, "ep=2", *cluster))[1]
    assert_same_bits(outputs_of(compile_for(path, tmp_path, 2, *cluster), 2, calls(), tmp_path / "calls"), expected)


def test_a_model(tmp_path):
    """Every layer of a model, whose calls are prefill, decode and one row, so that a rank has none."""
    model = tiny_model("mixtral")
    export_model(model, tmp_path / "model.pt2", max_cache_len=CACHE)
    tokens = random_tokens(model, 3, 21, 0)
    calls = [step_inputs(tokens[:, :20]), step_inputs(tokens[:, 20:], 20), None, step_inputs(tokens[:1, :7])]
    expected = outputs_of(compile_for(tmp_path / "model.pt2", tmp_path / "one", 1), 1, calls, tmp_path / "expected")
    text = scheduled(tmp_path / "model.pt2", "ep=2", Schedule(chunk=8, slices=1))
    assert text.count("<overlap") == 3
    done, program = compile_text(text, "scheduled", tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert_same_bits(outputs_of(program, 2, calls, tmp_path / "calls"), expected)


def test_any_number_of_blocks(text, expected, tmp_path):
    """More than there are threads, or one for each phase."""
    text = substitute(r"(@return_sums_\w+\(.*?) phases", r"\1 single phases", text)
    text = substitute(r"(@experts_\w+\(.*?) phases", r"\1 blocks(5) phases", text, count=0)
    assert text.count("blocks(5)") == 2
    assert_same_bits(outputs_of(compiled(text, tmp_path), 2, calls(), tmp_path / "calls", threads=2), expected)


def test_a_group_is_one_launch_of_a_trace(text, tmp_path):
    outputs_of(compiled(text, tmp_path), 2, calls()[:1], tmp_path / "calls", "--trace", tmp_path / "trace.json", threads=2)
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e.get("cat") == "launch" and e["pid"] == 1]
    groups = {e["name"]: e["args"] for e in events if " + " in e["name"]}
    assert list(groups) == ["send_chunks + experts_up_4x128x256_bf16_gated", "experts_down_4x256x64_bf16 + return_sums_4_top2_tree4"]
    assert [(g["blocks"], g["phase"]) for g in groups.values()] == [(2 + 2 * 2, "up: rows to experts"), (2 * 2 + 2 * 2, "up: sums to tokens")]


MESSAGES = {
    "wait for rows": "reads 'rows', to which @send_chunks writes at the same time, but 'chunks came' is not awaited before",
    "signal of rows": "awaits 'chunks came', which no launch has signalled since the last kernel.advance on @ep",
    "wait for a slice": "of @return_sums_4_top2_tree4 reads its operand 0, which @experts_down_4x256x64_bf16 writes at the same time",
    "arrival of a tile": "of @return_sums_4_top2_tree4 awaits arrivals at its operand 7, where no launch before has arrived",
    "wait for sums": "reads 'sums', which ranks put to, but 'sums came' is not awaited before",
    "signal of sums": "of @await_sums awaits 'sums came', which no launch has signalled since the last kernel.advance on @ep",
    "counters of this call": "arrives at the counters of its operand 5, which no launch has set to 0 since they were used",
    "order of the second group": "awaits arrivals at its operand 7, but blocks of @experts_down_4x256x64_bf16 that arrive there do not start before",
    "order of the first group": "awaits 'chunks came', but blocks of @send_chunks that signal it do not start before",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_cannot_be_left_out(name, text, tmp_path):
    """Compiled all the same, the emulated GPU finds it: python/cuda/test_unverified_overlap.py."""
    done, program = compile_text(LEFT_OUT[name](text), "kernel", tmp_path)
    assert done.returncode == 2 and MESSAGES[name] in done.stderr, done.stderr
    assert not program.exists()


def test_arrivals_that_do_not_come(text, tmp_path):
    """One more than there are tiles: nobody counts them when the program is made."""
    awaited = r"( *)(kernel\.await_arrivals \S+ reach )(%\w+)"
    text = substitute(awaited, r"\1%more = arith.addi \3, %c1 : index\n\1\2%more", text)
    program = compiled(text, tmp_path)
    words = ["--ranks", "2", "--deadline", "1"]
    for name, array in calls()[2].items():
        np.save(tmp_path / f"{name}.npy", array)
        words += ["--input", f"{name}=@{tmp_path}/{name}.npy"]
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "a block of 'return_sums_4_top2_tree4', phase 0, waited for arrivals that did not come, in up: sums to tokens" in done.stderr, done.stderr
