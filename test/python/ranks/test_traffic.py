"""What ranks send to each other, byte for byte: the trace and the benchmark say what follows from the routing."""

import json

import numpy as np
import pytest

from layer import ROUTINGS, Drawn, inputs_of, write
from moe_mlir.testing.ranks import compile_for, outputs_of, part_of, run

EXPERTS, HIDDEN, K, TOKENS, FLAG, ANNOUNCEMENT = 8, 24, 3, 37, 4, 8
BYTES = {"f32": 4, "bf16": 2}
PROGRAMS = [("split", 2, "f32"), ("split", 4, "bf16"), ("replicated", 2, "bf16"), ("replicated", 4, "f32")]


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


def rows_of(ids, ranks):
    """[from, to]: rows that a rank sends, one for each rank that owns an expert of a token."""
    owners = np.where(ids < 0, -1, ids // (EXPERTS // ranks))
    return [[int((owners[part_of(len(ids), rank, ranks)] == peer).any(axis=1).sum()) for peer in range(ranks)] for rank in range(ranks)]


def expected(tokens, ranks, dtype, ids):
    """[rank][launch] (phase, bytes to each rank) of a call."""
    size, sum_bytes = BYTES[dtype], HIDDEN * 4

    def to_others(rank, bytes_to):
        return [0 if peer == rank else bytes_to(peer) for peer in range(ranks)]

    result = []
    for rank in range(ranks):
        if tokens == "replicated":
            given = [("up: sum over ranks", lambda peer: len(ids) * sum_bytes), ("up: sum over ranks", lambda peer: FLAG)]
        else:
            rows, row_bytes = rows_of(ids, ranks), HIDDEN * size + K * 4 + K * size
            given = [("up: rows to experts", lambda peer: rows[rank][peer] * row_bytes),
                     ("up: rows to experts", lambda peer: ANNOUNCEMENT + FLAG),
                     ("up: sums to tokens", lambda peer: rows[peer][rank] * sum_bytes),
                     ("up: sums to tokens", lambda peer: FLAG)]
        result.append([(phase, to_others(rank, bytes_to)) for phase, bytes_to in given])
    return result


def traffic_of(trace, ranks):
    """[rank][launch] of all calls."""
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "traffic"]
    assert {event["name"] for event in events} == {"sent on ep"}
    return [[(event["args"]["phase"], event["args"]["bytes"]) for event in events if event["pid"] == rank + 1] for rank in range(ranks)]


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
        wanted = [launch for call in calls for launch in expected(tokens, ranks, dtype, call["ids"])[rank]]
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
    assert len(launches) == 4 * each == 4 * len(expected(tokens, ranks, dtype, np.zeros((0, K), np.int32))[0])
    assert line.split(": ")[1].split() == [str(sum(sent[peer] for _, sent in launches[each:])) for peer in range(ranks)]
    if tokens == "replicated":  # known without the routing
        assert line.endswith(": " + " ".join(["0"] + [str(3 * (TOKENS * HIDDEN * 4 + FLAG))] * (ranks - 1)))
