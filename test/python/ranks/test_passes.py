"""Exchanges in passes: any number of tokens in a pass gives the bits of one exchange, and traces show what each pass sends."""

import json
import re
import subprocess
from functools import cache

import numpy as np
import pytest
import torch
import test_overlap_trace as overlap_trace
import test_traffic as plain_trace
from edited import compile_text, substitute, text_at, without
from layer import Drawn, inputs_of, write, write_all
from overlap import Schedule, schedules_in
from safetensors.torch import save_file
from traffic import overlapped_bytes, parts_of, traffic_of

from moe_mlir.testing.compiling import compiler, export_model, step_inputs
from moe_mlir.testing.configurations import CACHE
from moe_mlir.testing.full import FULL
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

PLAIN = "<plain>"
# Layers of the tests that say what a whole exchange sends.
SIZES = {True: (plain_trace.EXPERTS, plain_trace.K, plain_trace.HIDDEN, 16), False: (overlap_trace.EXPERTS, overlap_trace.K, overlap_trace.HIDDEN, 64)}
# What --parallel says, the schedule, tokens of a pass: a rank of a call has fewer, as many, or more.
CASES = [
    ("ep=2", PLAIN, 7), ("ep=2", Schedule(chunk=2, slices=2), 8), ("ep=4", PLAIN, 5), ("ep=4", Schedule(steps=(1, 3), chunk=3, slices=1, piece=6), 17),
    ("ep=2", Schedule(steps=(1, 2), chunk=3, slices=4, order="part"), 10), ("ep=2,tokens=replicated", PLAIN, 16), ("ep=2,etp=2", PLAIN, 6),
]  # fmt: skip
MORE = [("ep=2", PLAIN, 1), ("ep=2", Schedule(parts=2), 16), ("ep=2,sums=bf16", PLAIN, 9), ("ep=4", Schedule(steps=(4,), chunk=1, slices=1), 3)]
TOKENS = [(70, "random"), (14, "random"), (16, "skip"), (1, "random"), (33, "last rank"), (0, "random"), (9, "nobody"), (32, "one expert")]


def layer_of(is_plain, tokens, routing="random"):
    experts, k, hidden, inner = SIZES[is_plain]
    return Drawn(experts, k, hidden, inner, True, "bf16", tokens, routing)


@cache
def calls(is_plain):
    """One rank may have rows for nobody, or no tokens at all."""
    return [inputs_of(layer_of(is_plain, *case), 2, seed) for seed, case in enumerate(TOKENS)]


def ranks_of(parallel):
    return int(np.prod([int(number) for number in re.findall(r"(?:ep|etp|dp)=(\d+)", parallel)]))


def in_passes(text, tokens):
    """The text at level scheduled with each exchange in passes of so many tokens."""
    number = f"{{kernel.pass_tokens = {tokens} : i64}}"
    text, found = re.subn(r"(?<= via\(direct\))|(?<= grid_axes = \[0\])", f" {number}", text)
    assert found
    return text


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Of the plain layer and of the other one: text, and flags to compile it."""
    made = {}
    for is_plain in SIZES:
        folder = tmp_path_factory.mktemp("layer")
        made[is_plain] = folder / "layer.mlir", [*write(layer_of(is_plain, 33), folder), "--target-cpu=x86-64-v3"]
    return made


@pytest.fixture(scope="module")
def whole(sources, tmp_path_factory):
    """Function: the outputs without passes, of one rank or, where bits depend on the ranks, of as many."""
    done = {}

    def get(parallel, is_plain):
        ranks = parallel if "bf16" in parallel or "etp" in parallel else "ep=1"
        if (ranks, is_plain) not in done:
            folder, (path, flags) = tmp_path_factory.mktemp("whole"), sources[is_plain]
            done[ranks, is_plain] = outputs_of(compile_for(path, folder, ranks, *flags), ranks_of(ranks), calls(is_plain), folder / "calls")
        return done[ranks, is_plain]

    return get


def sent(ids, said, ranks, rank, tokens, replicated):
    """[launch] (phase, bytes to each rank) of a call: what each pass sends is what an exchange of its tokens would."""
    if replicated:
        return [launch for first in range(0, len(ids), tokens) for launch in plain_trace.sums_of(rank, ranks, min(tokens, len(ids) - first))]
    launches, parts = [], parts_of(ids, ranks)
    room = max(map(len, parts))
    for first in range(0, room, tokens):
        # Passes are of one size on all ranks: tokens that a rank does not have go to no expert.
        missing = [np.full((min(room, tokens) - len(part[first : first + tokens]), ids.shape[1]), -1, np.int32) for part in parts]
        of_pass = [np.concatenate([part[first : first + tokens], rest]) for part, rest in zip(parts, missing)]
        launches += (overlapped_bytes(said[0], of_pass, overlap_trace.LAYER) if said else plain_trace.expected("split", "bf16", of_pass))[rank]
    return launches


@pytest.mark.parametrize("parallel,schedule,tokens", CASES + (MORE if FULL else []), ids=str)
def test_bits_and_bytes(parallel, schedule, tokens, sources, whole, tmp_path):
    is_plain = schedule == PLAIN
    path, flags = sources[is_plain]
    text = in_passes(substitute(r"schedule\(<plain>\)", f"schedule({schedule})", text_at("scheduled", path, parallel, *flags)), tokens)
    done, program = compile_text(text, "scheduled", tmp_path)
    assert done.returncode == 0, done.stderr
    ranks, trace = ranks_of(parallel), tmp_path / "trace.json"
    outputs = outputs_of(program, ranks, calls(is_plain), tmp_path / "calls", "--trace", trace, threads=1 + tokens % 2 * 2)
    assert_same_bits(outputs, whole(parallel, is_plain))
    if "etp" in parallel or "bf16" in parallel:
        return
    actual = traffic_of(trace, ranks)
    for rank in range(ranks):
        said = schedules_in(text)
        assert actual[rank] == [launch for call in calls(is_plain) for launch in sent(call["ids"], said, ranks, rank, tokens, "replicated" in parallel)]


def test_windows_are_bounded(sources, whole, tmp_path):
    """By the command line; --report says what the windows take, and how many passes there are."""
    path, flags = sources[True]
    command = [compiler(), path, *flags, "--parallel=ep=2", "--windows=16K", "-q", "-o", tmp_path / "model", f"--report={tmp_path}/report.json"]
    subprocess.run(command, check=True)
    report = json.loads((tmp_path / "report.json").read_text())
    [own] = report["passes"]
    # Rows, ids and weights in 2 bytes, sums in 4: of two ranks.
    _, k, hidden, _ = SIZES[True]
    each = 2 * (hidden * (2 + 4) + k * (4 + 2))
    assert own["tokens"] == 16384 // each < 64
    assert own["passes"]["size 128"] == -(-128 // own["tokens"]) and own["passes"]["size 1"] == 1
    [buffer] = report["buffers"]
    grown = sum(window["bytes"]["size 128"] for window in buffer["windows"] if window["type"].startswith("?"))
    assert grown <= 16384 < buffer["comet_bytes"]["size 128"] * 2
    assert_same_bits(outputs_of(tmp_path / "model", 2, calls(True), tmp_path / "calls"), whole("ep=2", True))


def test_exchanges_that_overlap(tmp_path):
    """The second layer between the first one's way there and its experts: in passes of their own both have their bits, and one of them alone is an error."""
    layers = [Drawn(4, 2, 16, 8, True, "f32", 9, "random"), Drawn(8, 3, 24, 8, True, "f32", 9, "random")]
    flags, source = write_all(layers, tmp_path), tmp_path / "layer.mlir"
    lines = text_at("scheduled", source, "ep=2", *flags).split("\n")
    there, last = (max(i for i, line in enumerate(lines) if word in line) for word in (" = moe.dispatch", "moe.combine"))
    first = min(i for i, line in enumerate(lines) if "moe.parameter" in line and '1"]' in line)
    assert " at @ep" in lines[there] and first < there < last
    away = next(i for i, line in enumerate(lines) if "via(direct)" in line) + 1
    text = "\n".join(lines[:away] + lines[first : last + 1] + lines[away:first] + lines[last + 1 :])
    done, _ = compile_text("via(direct) {kernel.pass_tokens = 3 : i64}".join(text.rsplit("via(direct)", 1)), "scheduled", tmp_path / "one")
    assert done.returncode == 2 and "give both 'kernel.pass_tokens'" in done.stderr, done.stderr
    done, program = compile_text(in_passes(text, 3), "scheduled", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    call = inputs_of(layers[0], 2, 1) | {f"{name}1": value for name, value in inputs_of(layers[1], 2, 2).items()}
    expected = outputs_of(compile_for(source, tmp_path / "whole", 1, *flags), 1, [call], tmp_path / "expected")
    assert_same_bits(outputs_of(program, 2, [call], tmp_path / "calls"), expected)


def test_parts_that_are_joined(tmp_path):
    """Logits of a head whose columns ranks share (tp), which the limit of windows counts, too."""
    weight = torch.randn((24, 16), generator=torch.Generator().manual_seed(1))
    save_file({"head": weight}, tmp_path / "head.safetensors")
    (tmp_path / "head.mlir").write_text("""
func.func @main(%x: tensor<?x16xf32> {moe.dims = ["tokens", ""], moe.name = "x"}) -> (tensor<?x24xf32> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %w = moe.parameter ["head"] : tensor<24x16xf32>
  %y = nn.linear %x, %w : tensor<?x16xf32>, tensor<24x16xf32> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}""")
    flags = ["--from=graph", f"--weights={tmp_path}/head.safetensors", "-q"]
    inputs = [{"x": np.random.default_rng(rows).normal(size=(rows, 16)).astype(np.float32)} for rows in (29, 5, 0, 1)]
    report = tmp_path / "report.json"
    program = compile_for(tmp_path / "head.mlir", tmp_path / "parts", "tp=2", *flags, "--windows=1K", f"--report={report}")
    # Two halves of two ranks' parts of 48 bytes.
    assert json.loads(report.read_text())["passes"][0]["tokens"] == 1024 // (2 * 2 * 48)
    expected = outputs_of(compile_for(tmp_path / "head.mlir", tmp_path / "whole", "ep=1", *flags), 1, inputs, tmp_path / "expected")
    assert_same_bits(outputs_of(program, 2, inputs, tmp_path / "calls"), expected)


@pytest.mark.skipif(not FULL, reason="two programs of a model (MOE_TEST_FULL)")
def test_a_model(tmp_path):
    """What reads a layer's sums runs where the last launch of each pass makes them; calls are prefill, decode and one row, so that a rank has none."""
    model = tiny_model("mixtral", vocab_size=256)
    export_model(model, tmp_path / "model.pt2", max_cache_len=CACHE)
    tokens = random_tokens(model, 3, 21, 0)
    inputs = [step_inputs(tokens[:, :20]), step_inputs(tokens[:, 20:], 20), None, step_inputs(tokens[:1, :7])]
    expected = outputs_of(compile_for(tmp_path / "model.pt2", tmp_path / "one", 1), 1, inputs, tmp_path / "expected")
    program = compile_for(tmp_path / "model.pt2", tmp_path / "two", 2, "--windows=8K")
    assert_same_bits(outputs_of(program, 2, inputs, tmp_path / "calls", "--trace", tmp_path / "trace.json"), expected)
    phases = [event["args"]["phase"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if event.get("cat") == "traffic"]
    assert len(phases) > 2 * 4 * 3 * 3  # ranks, launches that send, layers, calls: a call has several passes


@pytest.fixture(scope="module")
def kernels(sources):
    """The text at level kernel, in passes of 4 tokens."""
    path, flags = sources[True]
    text = in_passes(text_at("scheduled", path, "ep=2", *flags), 4)
    command = [compiler(), "-", "--from=scheduled", "--to=kernel", "-o", "-", "-q"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("launch", ["next_exchange", "announce_rows", "await_rows", "signal_ranks", "await_ranks"])
def test_what_a_pass_cannot_do_without(launch, kernels, tmp_path):
    done, _ = compile_text(without(rf"kernel\.launch @{launch}\(", kernels), "kernel", tmp_path)
    assert done.returncode == 2 and "kernel.launch' op of @" in done.stderr, done.stderr


def test_ranks_that_count_passes_for_themselves(kernels, tmp_path):
    """Each its own tokens: a rank with fewer would not come to the last pass."""
    done, _ = compile_text(substitute(r"arith\.ceildivui %\w+,", "arith.ceildivui %dim,", kernels), "kernel", tmp_path)
    assert done.returncode == 2 and "runs passes whose number is not the same on all ranks" in done.stderr, done.stderr
