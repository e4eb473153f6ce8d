"""What ranks send to each other, byte for byte: the trace and the benchmark say what follows from the routing."""

import numpy as np
import pytest

from layer import ROUTINGS, Drawn, inputs_of, write
from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import compile_for, outputs_of, part_of, run
from traffic import ANNOUNCEMENT, BYTES, FLAG, parts_of, rows_of, to_others, traffic_of

EXPERTS, HIDDEN, K, TOKENS = 8, 24, 3, 37
PROGRAMS = [("split", 2, "f32"), ("split", 4, "bf16"), ("replicated", 2, "bf16"), ("replicated", 4, "f32")]
# dp, ep, etp
GRIDS = [((2, 2, 2), "split"), *([((1, 2, 2), "replicated"), ((1, 1, 4), "replicated")] if FULL else [])]


def layer_of(dtype, routing="random", tokens=TOKENS):
    return Drawn(EXPERTS, K, HIDDEN, 16, True, dtype, tokens, routing)


def calls_of(dtype, ranks):
    """A call for each routing, for fewer tokens than ranks, for none, and one in which every token stays on its rank."""
    calls = [inputs_of(layer_of(dtype, routing), ranks, 5) for routing in ROUTINGS]
    calls += [inputs_of(layer_of(dtype, tokens=tokens), ranks, 5) for tokens in (0, 1, ranks - 1)]
    stays, each = inputs_of(layer_of(dtype), ranks, 6), EXPERTS // ranks
    for rank in range(ranks):
        part = part_of(TOKENS, rank, ranks)
        stays["ids"][part] = np.where(stays["ids"][part] % EXPERTS // each == rank, stays["ids"][part], -1)
    return [*calls, stays]


def parts_for(tokens, ids, ranks):
    return parts_of(ids, ranks) if tokens == "split" else [ids] * ranks


def sums_of(rank, ranks, count, size=4):
    """[launch] of a sum over ranks of `count` tokens."""
    return [("up: sum over ranks", to_others(rank, ranks, lambda peer: count * HIDDEN * size)), ("up: sum over ranks", to_others(rank, ranks, lambda peer: FLAG))]


def expected(tokens, dtype, parts, sum_size=4):
    """[rank][launch] (phase, bytes to each rank) of a call; parts: of each rank the ids of its tokens; sum_size: bytes of a number of a sum."""
    size, sum_bytes, ranks = BYTES[dtype], HIDDEN * sum_size, len(parts)
    result = []
    for rank, ids in enumerate(parts):
        if tokens == "replicated":
            result.append(sums_of(rank, ranks, len(ids), sum_size))
        else:
            rows, row_bytes = rows_of(parts, EXPERTS), HIDDEN * size + K * 4 + K * size
            given = [("up: rows to experts", lambda peer: rows[rank][peer] * row_bytes),
                     ("up: rows to experts", lambda peer: ANNOUNCEMENT + FLAG),
                     ("up: sums to tokens", lambda peer: rows[peer][rank] * sum_bytes),
                     ("up: sums to tokens", lambda peer: FLAG)]
            result.append([(phase, to_others(rank, ranks, bytes_to)) for phase, bytes_to in given])
    return result


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: "-".join(map(str, program)))
def program(request, tmp_path_factory):
    tokens, ranks, dtype = request.param
    folder = tmp_path_factory.mktemp("traffic")
    return (*request.param, compile_for(folder / "layer.mlir", folder / "made", ranks, *write(layer_of(dtype), folder), tokens=tokens))


@pytest.mark.parametrize("comm", ["shm", "local"])
def test_trace(program, tmp_path, comm):
    tokens, ranks, dtype, path = program
    calls = calls_of(dtype, ranks)
    outputs_of(path, ranks, calls, tmp_path, "--comm", comm, "--trace", tmp_path / "trace.json")
    actual = traffic_of(tmp_path / "trace.json", ranks)
    for rank in range(ranks):
        wanted = [launch for call in calls for launch in expected(tokens, dtype, parts_for(tokens, call["ids"], ranks))[rank]]
        assert actual[rank] == wanted
    if tokens == "split":
        # The last call: nothing but flags and announcements leaves a rank whose tokens stay.
        assert calls[-1]["ids"].max() >= 0
        for rank in range(ranks):
            assert [max(sent) for _, sent in actual[rank][-4:]] == [0, ANNOUNCEMENT + FLAG, 0, FLAG]


def test_benchmark(program, tmp_path):
    """It counts its repetitions and leaves out the one before them, as the trace shows."""
    tokens, ranks, dtype, path = program
    done = run(path, ranks, "--benchmark", "--size", f"tokens={TOKENS}", "--repeat", 3, "--trace", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("sent on ep by the first rank (bytes, to each rank): ")]
    launches = traffic_of(tmp_path / "trace.json", ranks)[0]
    each = len(launches) // 4
    assert len(launches) == 4 * each == 4 * len(expected(tokens, dtype, [np.zeros((0, K), np.int32)] * ranks)[0])
    assert line.split(": ")[1].split() == [str(sum(sent[peer] for _, sent in launches[each:])) for peer in range(ranks)]
    if tokens == "replicated":  # known without the routing
        assert line.endswith(": " + " ".join(["0"] + [str(3 * (TOKENS * HIDDEN * 4 + FLAG))] * (ranks - 1)))


@pytest.mark.parametrize("sizes,tokens", GRIDS)
def test_several_axes(sizes, tokens, tmp_path):
    """Ranks that differ in their slice alone send the same rows to experts, and their sums to each other; batches stay apart."""
    batches, experts, slices = sizes
    ranks, layer = batches * experts * slices, layer_of("bf16")
    grid = f"dp={batches},ep={experts},etp={slices}"
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "made", grid, *write(layer, tmp_path), tokens=tokens)
    calls = [inputs_of(layer, experts, 5), inputs_of(layer_of("bf16", tokens=3), experts, 6)]
    outputs_of(program, ranks, calls, tmp_path / "calls", "--trace", tmp_path / "trace.json")
    axes = ("ep", "etp") if experts > 1 else ("etp",)
    on_experts, on_slices = (traffic_of(tmp_path / "trace.json", ranks, axis, axes) for axis in ("ep", "etp"))
    for rank in range(ranks):
        batch, expert, slice_ = rank // (experts * slices), rank // slices % experts, rank % slices
        rows, sums = [], []
        for call in calls:
            if tokens == "split":
                parts = parts_of(call["ids"], batches * experts)[batch * experts :][:experts]
            else:
                parts = [parts_of(call["ids"], batches)[batch]] * experts
            rows += expected(tokens, "bf16", parts)[expert]
            sums += sums_of(slice_, slices, len(parts[expert]))
        assert on_experts[rank] == (rows if experts > 1 else [])
        assert on_slices[rank] == sums
