"""Exchanges of nodes and ranks, one inside of the other (nodes=N): the bits of one exchange, and a token goes to each node once."""

import json

import numpy as np
import pytest
from edited import compile_text, substitute, text_at
from hosts import Hosts, namespaces, why_no_namespaces
from layer import ROUTINGS, Drawn, inputs_of, write
from overlap import Schedule, scheduled
from test_hosts import write_calls
from test_rank_bits import calls_of as calls_of_model
from test_rank_bits import export
from traffic import ANNOUNCEMENT, FLAG, parts_of, to_others, traffic_of

from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

# nodes, ranks of each, element
BINARY = [(2, 2, "bf16"), (2, 4, "f32"), *([(2, 4, "bf16"), (4, 2, "f32"), (8, 8, "f32"), (8, 8, "bf16"), (16, 8, "f32")] if FULL else [])]
TERNARY = [(3, 2), *([(3, 8)] if FULL else [])]
# One of both is 1, for which the compiler makes one exchange: written by hand.
EDGES = [(8, 1), *([(1, 8)] if FULL else [])]
# What exchanges of rows of a node's ranks do under products.
SCHEDULES = [Schedule(steps=(1, 1), chunk=4, slices=2), *([Schedule(steps=(1, 2, 1), chunk=5, slices=1, order="part"), Schedule(parts=3)] if FULL else [])]
# family, what gives the bits, what is to give them; each with its ranks
MODELS = [("mixtral", ("ep=1", 1), ("ep=4,nodes=2", 4)), *([("qwen3_moe", ("ep=4,tp=2,etp=2", 8), ("ep=4,nodes=2,tp=2,etp=2", 8))] if FULL else [])]
THREADS = ("--comm", "local")
K, HIDDEN = 3, 20


def layer_of(ranks, routing="random", tokens=37, dtype="f32"):
    return Drawn(3 * ranks if ranks < 64 else ranks, K, HIDDEN, 12, True, dtype, tokens, routing)


def calls_of(ranks, dtype="f32"):
    """A call for each routing, for fewer tokens than ranks, and for none."""
    calls = [inputs_of(layer_of(ranks, routing, dtype=dtype), ranks, seed) for seed, routing in enumerate(ROUTINGS)]
    return calls + [inputs_of(layer_of(ranks, tokens=tokens, dtype=dtype), ranks, 9) for tokens in (0, 1, ranks - 1)]


def rows_to(parts, groups, each):
    """[rank][group]: rows that a rank sends, one for each group of `each` experts that has one of a token's."""
    return [[int((np.where(ids < 0, -1, ids // each) == group).any(axis=1).sum()) for group in range(groups)] for ids in parts]


@pytest.mark.parametrize("nodes,local,dtype", BINARY)
def test_bits_of_one_exchange(nodes, local, dtype, tmp_path):
    """And a row for each (token, node) goes to nodes, by the trace of each rank."""
    ranks = nodes * local
    flags, calls = write(layer_of(ranks, dtype=dtype), tmp_path), calls_of(ranks, dtype)
    one = compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags, groups=ranks)
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "nested", f"ep={ranks},nodes={nodes}", *flags, tokens="split", groups=ranks)
    trace = tmp_path / "trace.json"
    results = outputs_of(program, ranks, calls, tmp_path / "calls", *THREADS, "--trace", trace)
    assert_same_bits(results, outputs_of(one, 1, calls, tmp_path / "expected"))

    experts, size = layer_of(ranks).experts, {"f32": 4, "bf16": 2}[dtype]
    row_bytes, axes = HIDDEN * size + K * 4 + K * size, ("node", "local")
    between, inside = (traffic_of(trace, ranks, axis, axes) for axis in axes)
    for rank in range(ranks):
        node, place = divmod(rank, local)
        wanted, seen = [], []
        for call in calls:
            parts = parts_of(call["ids"], ranks)
            sent = rows_to(parts, nodes, experts // nodes)
            peers = [each * local + place for each in range(nodes)]
            wanted += [
                ("up: rows to nodes", to_others(node, nodes, lambda peer: sent[rank][peer] * row_bytes)),
                ("up: rows to nodes", to_others(node, nodes, lambda peer: ANNOUNCEMENT + FLAG)),
                ("up: sums to tokens", to_others(node, nodes, lambda peer: sent[peers[peer]][node] * HIDDEN * 4)),
                ("up: sums to tokens", to_others(node, nodes, lambda peer: FLAG)),
            ]
            # What came to the ranks of this node goes on to those that have the experts.
            came = [np.concatenate([parts[each * local + column] for each in range(nodes)]) for column in range(local)]
            passed = [counts[node * local : (node + 1) * local] for counts in rows_to(came, ranks, experts // ranks)]
            seen += [
                ("up: rows to experts", to_others(place, local, lambda peer: passed[place][peer] * row_bytes)),
                ("up: rows to experts", to_others(place, local, lambda peer: ANNOUNCEMENT + FLAG)),
                ("up: sums to nodes", to_others(place, local, lambda peer: passed[peer][place] * HIDDEN * 4)),
                ("up: sums to nodes", to_others(place, local, lambda peer: FLAG)),
            ]
        assert between[rank] == wanted
        assert inside[rank] == seen


@pytest.mark.parametrize("nodes,local", TERNARY)
def test_nodes_that_are_no_power_of_two(nodes, local, tmp_path):
    """Sums of another tree, within 1e-5 of the largest."""
    ranks = nodes * local
    flags, calls = write(layer_of(ranks), tmp_path), calls_of(ranks)
    one = compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags)
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "nested", f"ep={ranks},nodes={nodes}", *flags, tokens="split")
    expected = outputs_of(one, 1, calls, tmp_path / "expected")
    for result, other in zip(outputs_of(program, ranks, calls, tmp_path / "calls", *THREADS), expected, strict=True):
        if other["y"].size:
            assert np.abs(result["y"] - other["y"]).max() <= 1e-5 * max(np.abs(other["y"]).max(), 1e-30)


@pytest.mark.parametrize("nodes,local", EDGES)
def test_one_node_and_nodes_of_one_rank(nodes, local, tmp_path):
    """A way of one rank leads back to it."""
    ranks = nodes * local
    flags, calls = write(layer_of(ranks), tmp_path), calls_of(ranks)
    one = compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags, groups=ranks)
    text = text_at("spmd", tmp_path / "layer.mlir", f"ep={ranks},nodes=2,tokens=split,groups={ranks}", *flags)
    for pattern, size in (("shape = 2x4", f"shape = {nodes}x{local}"), (r"@node\(shape = 2", f"@node(shape = {nodes}"), (r"@local\(shape = 4", f"@local(shape = {local}"),
                          ("layout<2>", f"layout<{nodes}>"), ("layout<4>", f"layout<{local}>"), ("groups = 2>", f"groups = {nodes}>"), ("groups = 4>", f"groups = {local}>")):
        text = substitute(pattern, size, text, count=0)
    done, program = compile_text(text, "spmd", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    assert_same_bits(outputs_of(program, ranks, calls, tmp_path / "calls", *THREADS), outputs_of(one, 1, calls, tmp_path / "expected"))


def test_with_other_axes(tmp_path):
    """Batches, slices of experts and experts in another order change nothing of it; and a variant may have nodes where another one has none."""
    layer = layer_of(4)
    flags, calls = write(layer, tmp_path), calls_of(4)
    (tmp_path / "order.json").write_text(json.dumps([7, 0, 5, 10, 3, 8, 1, 6, 11, 4, 9, 2]))
    parts = f"experts={tmp_path / 'order.json'},tokens=split"
    program = compile_for(tmp_path / "layer.mlir", tmp_path / "made", f"dp=2,ep=4,etp=2,{parts}", *flags, "--variant=dp=2,ep=4,nodes=2,etp=2,tokens=split")
    flat, nested = (outputs_of(program, 16, calls, tmp_path / variant, *THREADS, "--variant", variant) for variant in "01")
    assert_same_bits(nested, flat)
    assert any(np.abs(each["y"]).sum() > 0 for each in flat)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_overlapped_in_a_node(schedule, tmp_path):
    """Rows inside of a node may travel under its products."""
    layer = Drawn(8, K, 256, 64, True, "bf16", 33, "random")
    flags, calls = [*write(layer, tmp_path), "--target-cpu=x86-64-v3"], [inputs_of(Drawn(8, K, 256, 64, True, "bf16", tokens, "random"), 4, tokens) for tokens in (33, 0, 5, 200)]
    expected = outputs_of(compile_for(tmp_path / "layer.mlir", tmp_path / "one", 1, *flags), 1, calls, tmp_path / "expected")
    done, program = compile_text(scheduled(tmp_path / "layer.mlir", "ep=4,nodes=2,tokens=split", schedule, *flags), "scheduled", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    assert_same_bits(outputs_of(program, 4, calls, tmp_path / "calls"), expected)


@pytest.mark.parametrize("family,flat,nested", MODELS)
def test_a_model(family, flat, nested, tmp_path):
    """Caches and attention are divided with the batch, or by heads in a node; several layers use the same windows."""
    calls = calls_of_model(export(family, "float32", tmp_path / "model.pt2"))
    results = []
    for name, parts, ranks in (("flat", *flat), ("nested", *nested)):
        program = compile_for(tmp_path / "model.pt2", tmp_path / name, parts, tokens="split")
        results.append(outputs_of(program, ranks, calls, tmp_path / f"{name}-calls", *(THREADS if ranks > 1 else ())))
    assert_same_bits(*results)


def run_on(hosts, program, calls, folder, counts=(2, 2), said=("", "")):
    """What a job of two hosts with so many ranks gives, which say this."""
    file, places = write_calls(calls, folder)
    ends = hosts.run(program, 4, hosts.root(), folder, "--calls", file, "--deadline", 20, counts=counts)
    assert [(code, errors) for code, _, errors in ends] == [(0, text) for text in said], ends
    return [{each.stem: np.load(each) for each in sorted(place.iterdir())} for place in places]


def test_hosts_that_are_nodes(tmp_path):
    """A host is a node: fewer bytes between hosts, where a token has experts on both ranks of the other one."""
    layer = Drawn(8, 4, 512, 8, True, "bf16", 400, "random")
    flags, calls = write(layer, tmp_path), [inputs_of(layer, 4, 1)]
    flat, nested = (compile_for(tmp_path / "layer.mlir", tmp_path / parts, parts, *flags, tokens="split") for parts in ("ep=4", "ep=4,nodes=2"))
    expected = outputs_of(flat, 4, calls, tmp_path / "expected")
    warning = f"{nested}: warning: --hosts: ranks 0 to 1 are a node, and on several hosts; what travels inside of it does so between hosts\n"
    assert_same_bits(run_on(Hosts(), nested, calls, tmp_path / "shared", counts=(1, 3), said=(warning, "")), expected)
    if why_no_namespaces():
        assert_same_bits(run_on(Hosts(), nested, calls, tmp_path / "calls"), expected)
        return
    with namespaces() as hosts:
        sent = [hosts.sent()]
        for program in (flat, nested):
            assert_same_bits(run_on(hosts, program, calls, tmp_path / program.parent.name / "calls"), expected)
            sent.append(hosts.sent())
    assert sent[2] - sent[1] < 0.8 * (sent[1] - sent[0])
