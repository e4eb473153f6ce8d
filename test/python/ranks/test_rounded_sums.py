"""Sums that travel as bf16 (sums=bf16): each rank's is rounded once, and the way back has half the bytes. Level spmd says it, with or without overlap."""

import numpy as np
import pytest
import torch
from edited import compile_text, substitute, text_at
from layer import Drawn, inputs_of, write
from overlap import Schedule, scheduled
from test_overlap_trace import drawn as overlap_layer
from test_traffic import calls_of, expected, layer_of, parts_for
from traffic import overlapped_bytes, parts_of, traffic_of

from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
# tokens, ranks, element
PROGRAMS = [("split", 2, "f32"), ("split", 4, "bf16"), ("replicated", 2, "bf16")]
SCHEDULES = [Schedule(steps=(1, 1), chunk=4, slices=2), Schedule(steps=(1, 2, 1), chunk=5, slices=1, order="part"), Schedule(parts=3)]
HIDDEN = 256
LAYER = overlap_layer(33, "random")


def rounded(array):
    return torch.from_numpy(array).to(torch.bfloat16).to(torch.float32)


def added(outputs):
    """The ranks' sums, rounded to bf16 and added in pairs in f32."""
    values = [rounded(each) for each in outputs]
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def of_rank(call, rank, ranks, experts):
    """The call with nothing but the experts of one rank."""
    each = experts // ranks
    return {**call, "ids": np.where(call["ids"] // each == rank, call["ids"], -1)}


@pytest.mark.parametrize("tokens,ranks,dtype", PROGRAMS)
def test_each_rank_rounds_once(tokens, ranks, dtype, tmp_path):
    """What a rank of its own gives for the experts of each rank, rounded and added, has the program's bits; and what is sent has so many bytes."""
    layer, calls = layer_of(dtype), calls_of(dtype, ranks)
    flags = write(layer, tmp_path)
    one = compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags)
    alone = outputs_of(one, 1, [of_rank(call, rank, ranks, layer.experts) for call in calls for rank in range(ranks)], tmp_path / "alone")
    sums = [added([each["y"] for each in alone[i * ranks : (i + 1) * ranks]]).to(TYPES[dtype]).float().numpy() for i in range(len(calls))]
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "made", f"ep={ranks},sums=bf16", *flags, tokens=tokens)
    assert_same_bits(outputs_of(program, ranks, calls, tmp_path / "calls", "--trace", tmp_path / "trace.json"), [{"y": y} for y in sums])
    # Bits depend on the number of ranks now.
    whole = outputs_of(one, 1, calls, tmp_path / "whole")
    assert any((y != other["y"]).any() for y, other in zip(sums, whole, strict=True))

    traffic = traffic_of(tmp_path / "trace.json", ranks)
    for rank in range(ranks):
        wanted = [launch for call in calls for launch in expected(tokens, dtype, parts_for(tokens, call["ids"], ranks), sum_size=2)[rank]]
        assert traffic[rank] == wanted


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layer")
    return folder / "layer.mlir", [*write(LAYER, folder), "--target-cpu=x86-64-v3"]


CALLS = [inputs_of(overlap_layer(*case), 2, seed) for seed, case in enumerate([(96, "random"), (33, "skip"), (0, "random"), (9, "last rank")])]


@pytest.fixture(scope="module")
def plain(source, tmp_path_factory):
    """What the program without overlap gives."""
    folder = tmp_path_factory.mktemp("plain")
    return outputs_of(compile_for(source[0], folder, "ep=2,sums=bf16", *source[1]), 2, CALLS, folder / "calls")


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_overlapped_is_plain(schedule, source, plain, tmp_path):
    text = scheduled(source[0], "ep=2,sums=bf16", schedule, *source[1])
    done, program = compile_text(text, "scheduled", tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_bits(outputs_of(program, 2, CALLS, tmp_path / "calls", "--trace", tmp_path / "trace.json", threads=2), plain)
    said = {"chunk": schedule.chunk, "slices": schedule.slices, "order": schedule.order}
    if schedule.parts:
        said = {"parts": schedule.parts, "slices": 1, "order": "part"}
    traffic = traffic_of(tmp_path / "trace.json", 2)
    for rank in range(2):
        assert traffic[rank] == [launch for call in CALLS for launch in overlapped_bytes(said, parts_of(call["ids"], 2), LAYER, sum_size=2)[rank]]


def test_the_text_decides(source):
    """What the flag makes is the type of what travels; an edit of it is the same program."""
    wide = text_at("spmd", source[0], "ep=2", *source[1])
    edited = substitute(rf"(moe\.combine %\d+, .* -> tensor<\?x{HIDDEN}x)f32>$", r"\1bf16>", wide)
    edited = substitute(rf"(moe\.all_to_all .* return : tensor<\?x{HIDDEN}x)f32(>.* -> tensor<\?x{HIDDEN}x)f32>", r"\1bf16\2bf16>", edited)
    edited = substitute(rf"(moe\.combine .* : tensor<\?x{HIDDEN}x)f32>", r"\1bf16>", edited)
    assert edited == text_at("spmd", source[0], "ep=2,sums=bf16", *source[1])


@pytest.mark.parametrize("tokens", ["split", "replicated"])
def test_slices(tokens, tmp_path):
    """Sums over slices are rounded, too: near to those that are not, by as much as a rounding of each may do."""
    layer = Drawn(8, 3, 24, 16, True, "f32", 37, "random")
    flags, calls = write(layer, tmp_path), [inputs_of(layer, 2, 5)]
    programs = {sums: compile_for(tmp_path / "layer.mlir", tmp_path / sums, f"ep=2,etp=2,sums={sums}", *flags, tokens=tokens) for sums in ("f32", "bf16")}
    results = {}
    for sums, program in programs.items():
        [result] = outputs_of(program, 4, calls, tmp_path / f"calls-{sums}", "--trace", tmp_path / f"{sums}.json")
        results[sums] = result["y"]
    off = np.abs(results["bf16"] - results["f32"]).max() / np.abs(results["f32"]).max()
    assert 2**-12 < off < 2**-7, off
    for axis in ("ep", "etp"):
        wide, half = (traffic_of(tmp_path / f"{sums}.json", 4, axis, ("ep", "etp")) for sums in ("f32", "bf16"))
        for one, other in zip(wide, half, strict=True):
            for (phase, before), (same, after) in zip(one, other, strict=True):
                is_sum = "sum" in phase and max(before) > 4  # a flag is 4 bytes
                assert same == phase and after == ([size // 2 for size in before] if is_sum else before)
