"""Experts in another order, from a file: the same bits for every number of ranks, NumPy's sums, and bytes as the table says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_torch
from safetensors.torch import save_file as save_torch

from edited import compile_text, substitute, text_at
from layer import Drawn, inputs_of, write
from moe_mlir.reference import add_in_pairs
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.ranks import assert_same_bits, entries_of, outputs_of, part_of, run

ROOT = Path(__file__).resolve().parents[3]

EXPERTS, RANKS, K, TOKENS, HIDDEN = 8, 4, 3, 29, 16
LAYER = Drawn(EXPERTS, K, HIDDEN, HIDDEN, False, "f32", TOKENS, "skip")
ORDER = [5, 0, 3, 6, 1, 7, 2, 4]
SCALES = np.array([1, -2, 0.5, 4, -0.25, 1, 8, -1], np.float32)
CALL = inputs_of(LAYER, RANKS, 4)
FLAG, ANNOUNCEMENT = 4, 8


def numpy_sum(order, call=CALL):
    """Expert e multiplies by SCALES[e]. Places are cut into 8 ranges; in one, slots are added in their order."""
    places = np.argsort(order)
    ranges = np.zeros((8, len(call["ids"]), HIDDEN), np.float32)
    for token, ids in enumerate(call["ids"]):
        for slot, expert in enumerate(ids):
            if expert >= 0:
                row = call["x"][token] * SCALES[expert] * call["weights"][token, slot]
                ranges[places[expert] * 8 // EXPERTS, token] += row
    return add_in_pairs(ranges)


@pytest.fixture(scope="module")
def layer(tmp_path_factory):
    """Folder and flags of the layer; its experts have no activation, so that products are exact."""
    folder = tmp_path_factory.mktemp("orders")
    flags = write(LAYER, folder)
    same = np.tile(np.eye(HIDDEN, dtype=np.float32), (EXPERTS, 1, 1))
    save_file({"up": same, "down": same * SCALES[:, None, None]}, folder / "layer.safetensors")
    text = (folder / "layer.mlir").read_text()
    (folder / "layer.mlir").write_text(substitute(r"    %s = nn\.silu %g : f32\n    moe\.yield %s", "    moe.yield %g", text))
    (folder / "order.json").write_text(json.dumps(ORDER))
    return folder, flags


@pytest.fixture(scope="module")
def programs(layer, tmp_path_factory):
    """(ranks, tokens) -> program with the order."""
    folder, flags = layer
    made = {}

    def program(ranks, tokens="split"):
        if (ranks, tokens) not in made:
            parallel = f"ep={ranks},tokens={tokens},experts={folder / 'order.json'}"
            made[ranks, tokens] = moe_compile(folder / "layer.mlir", tmp_path_factory.mktemp("made") / "model", f"--parallel={parallel}", *flags)
        return made[ranks, tokens]

    return program


@pytest.mark.parametrize("ranks,tokens", [(1, "split"), (2, "split"), (4, "split"), (4, "replicated")])
def test_numbers(ranks, tokens, programs, tmp_path):
    """All of them NumPy's, so that all are equal."""
    [actual] = outputs_of(programs(ranks, tokens), ranks, [CALL], tmp_path)
    np.testing.assert_array_equal(actual["y"], numpy_sum(ORDER))


def test_the_order_matters():
    assert (numpy_sum(ORDER) != numpy_sum(range(EXPERTS))).any()


def test_one_archive_in_this_order(layer, programs):
    folder, _ = layer
    archives = [path.with_name(path.name + ".weights").read_bytes() for path in (programs(1), programs(2), programs(4))]
    assert archives[0] == archives[1] == archives[2]
    [(entry, data)] = [(entry, archives[0][entry.offset :][: entry.size])
                       for key, entry in entries_of(programs(1).with_name("model.weights")).items() if key.startswith("down")]  # fmt: skip
    each = len(data) // entry.sizes[0]
    largest = [np.abs(np.frombuffer(data[place * each :][:each], np.float32)).max() for place in range(EXPERTS)]
    assert largest == [abs(load_file(folder / "layer.safetensors")["down"][expert]).max() for expert in ORDER]


def test_two_experts_swapped_in_the_text(layer, tmp_path):
    folder, flags = layer
    text = text_at("spmd", folder / "layer.mlir", f"ep={RANKS},experts={folder / 'order.json'}", *flags)
    swapped = [4, *ORDER[1:-1], 5]
    done, program = compile_text(substitute(r"(#order = #moe\.order<)\[[^]]*\]", rf"\1{swapped}", text), "spmd", tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(outputs_of(program, RANKS, [CALL], tmp_path / "out")[0]["y"], numpy_sum(swapped))
    # Not of the weights alone.
    edited = substitute(r"order\(#order\) at", f"order(<{swapped}>) at", text)
    done, program = compile_text(edited, "spmd", tmp_path / "half")
    assert done.returncode == 2 and not program.exists()
    assert re.search("has weights in another order of experts than its moe.dispatch; give both one #moe.order", done.stderr)


def rows_sent(order, ids):
    """[from, to]: a row for each other rank that owns an expert of a token."""
    owners = np.append(np.argsort(order) // (EXPERTS // RANKS), -1)[ids]
    return [[int((owners[part_of(len(ids), rank, RANKS)] == peer).any(axis=1).sum()) if peer != rank else 0 for peer in range(RANKS)] for rank in range(RANKS)]


def test_bytes(programs, tmp_path):
    """The last call: every token has the experts of its own rank, so that nothing but flags and announcements is sent."""
    owned = np.array(ORDER).reshape(RANKS, -1)
    home = dict(CALL, ids=np.full((TOKENS, K), -1, np.int32))
    for rank in range(RANKS):
        home["ids"][part_of(TOKENS, rank, RANKS), : owned.shape[1]] = owned[rank]
    calls = [CALL, inputs_of(LAYER, RANKS, 5), home]
    outputs_of(programs(RANKS), RANKS, calls, tmp_path, "--trace", tmp_path / "trace.json")
    events = [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if event.get("cat") == "traffic"]
    assert not any(map(any, rows_sent(ORDER, home["ids"]))) and any(map(any, rows_sent(range(EXPERTS), home["ids"])))
    for rank in range(RANKS):
        wanted = []
        for call in calls:
            rows = rows_sent(ORDER, call["ids"])
            there = [rows[rank][peer] * (HIDDEN * 4 + K * 4 + K * 4) for peer in range(RANKS)]
            back = [rows[peer][rank] * HIDDEN * 4 for peer in range(RANKS)]
            flags = [[size * (peer != rank) for peer in range(RANKS)] for size in (ANNOUNCEMENT + FLAG, FLAG)]
            wanted += [there, flags[0], back, flags[1]]
        assert [event["args"]["bytes"] for event in events if event["pid"] == rank + 1] == wanted


def test_a_table_from_measured_rows(layer, tmp_path):
    """The program in docs/Parallelism.md, with what the benchmark prints and other numbers in it."""
    folder, flags = layer
    program = moe_compile(folder / "layer.mlir", tmp_path / "model", "--parallel=ep=1", *flags)
    done = run(program, 1, "--benchmark", "--size", "tokens=50", "--repeat", 1)
    measured = substitute(r"(?m)by expert:( \d+){8}$", "by expert: 90 80 1 70 3 60 1 2", done.stdout)
    [script] = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "Parallelism.md").read_text(), re.MULTILINE | re.DOTALL)
    table = json.loads(subprocess.run([sys.executable, "-c", script], input=measured, check=True, capture_output=True, text=True).stdout)
    assert table == {"up": [0, 6, 1, 2, 3, 7, 5, 4]}
    (tmp_path / "order.json").write_text(json.dumps(table))
    assert f"#moe.order<{table['up']}>" in text_at("spmd", folder / "layer.mlir", f"ep={RANKS},experts={tmp_path / 'order.json'}", *flags)


def test_a_table_for_each_layer(tmp_path):
    """Of a text with two layers, by name."""
    one = Drawn(4, 2, 12, 8, True, "bf16", 17, "random")
    flags = write(one, tmp_path)
    text = (tmp_path / "layer.mlir").read_text()
    weights = load_torch(tmp_path / "layer.safetensors")
    names = ["model.layers.0.mlp.experts", "model.layers.1.mlp.experts"]
    save_torch({f"{name}.{key}": tensor.clone() for name in names for key, tensor in weights.items()}, tmp_path / "layer.safetensors")
    body = text[text.index("  %up =") : text.index("  return")].replace('["up"]', f'["{names[0]}.up"]').replace('["down"]', f'["{names[0]}.down"]')
    second = re.sub(r"%(up|down|rows|layout|r|y)\b", r"%\g<1>1", body).replace("%x", "%y").replace(names[0], names[1])
    text = text.replace(text[text.index("  %up =") : text.index("  return")], body + second).replace("return %y :", "return %y1 :")
    (tmp_path / "layer.mlir").write_text(text)
    (tmp_path / "orders.json").write_text(json.dumps({"model.layers.1.mlp": [3, 0, 2, 1], "model.layers.0.mlp": [1, 2, 0, 3]}))
    call, results = inputs_of(one, 4, 1), []
    for ranks in (1, 4):
        program = moe_compile(tmp_path / "layer.mlir", tmp_path / f"made{ranks}", f"--parallel=ep={ranks},experts={tmp_path / 'orders.json'}", *flags)
        results.append(outputs_of(program, ranks, [call], tmp_path / f"calls{ranks}"))
    assert np.abs(results[0][0]["y"]).sum() > 0
    assert_same_bits(results[1], results[0])
