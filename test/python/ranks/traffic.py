"""What ranks send to each other: the bytes in a trace, and the formula for them."""

import json
from pathlib import Path

import numpy as np
from overlap import chunks_of

from moe_mlir.testing.ranks import part_of

FLAG, ANNOUNCEMENT = 4, 8
BYTES = {"f32": 4, "bf16": 2}


def parts_of(ids, ranks):
    """Of each rank the ids of its tokens, if they are divided."""
    return [ids[part_of(len(ids), rank, ranks)] for rank in range(ranks)]


def rows_of(parts, experts):
    """[from, to]: rows that a rank sends, one for each rank that owns an expert of a token."""
    owners = [np.where(ids < 0, -1, ids // (experts // len(parts))) for ids in parts]
    return [[int((own == peer).any(axis=1).sum()) for peer in range(len(parts))] for own in owners]


def to_others(rank, ranks, bytes_to):
    return [0 if peer == rank else bytes_to(peer) for peer in range(ranks)]


def overlapped_bytes(schedule, parts, layer, sum_size=4, name="up"):
    """[rank][launch] (phase, bytes to each rank) of a call of a layer (layer.Drawn) whose schedule overlaps; parts: of each rank the ids of its tokens;
    sum_size: bytes of a number of a sum; name: of the first product's weights."""
    ranks, size, sent = len(parts), BYTES[layer.dtype], rows_of(parts, layer.experts)
    _, chunks = chunks_of(schedule, max(map(len, parts)))
    there, back = f"{name}: rows to experts", f"{name}: sums to tokens"
    result = []
    for rank in range(ranks):
        launches = [(there, lambda peer: sent[rank][peer] * layer.k * (4 + size)), (there, lambda peer: ANNOUNCEMENT + FLAG), (there, lambda peer: chunks * FLAG),
                    (there, lambda peer: sent[rank][peer] * layer.hidden * size), (back, lambda peer: sent[peer][rank] * layer.hidden * sum_size),
                    (back, lambda peer: chunks * schedule["slices"] * FLAG)]  # fmt: skip
        result.append([(phase, to_others(rank, ranks, bytes_to)) for phase, bytes_to in launches])
    return result


def traffic_of(trace, ranks, axis="ep", axes=("ep",)):
    """[rank][launch] of all calls, on one of the axes on which something is sent."""
    events = [event for event in json.loads(Path(trace).read_text())["traceEvents"] if event.get("cat") == "traffic"]
    assert {event["name"] for event in events} == {f"sent on {name}" for name in axes}
    events = [event for event in events if event["name"] == f"sent on {axis}"]
    return [[(event["args"]["phase"], event["args"]["bytes"]) for event in events if event["pid"] == rank + 1] for rank in range(ranks)]
