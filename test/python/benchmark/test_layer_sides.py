"""Sides of the layer benchmark that the tests' environment has, on a small layer: the compiled one, PyTorch, oneDNN."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from layer_data import SMALL, arrays_of, expected, make
from moe_bench.errors import BenchError
from moe_bench.layers import graph, sides
from moe_bench.layers.compiled_worker import Compiled
from moe_bench.pagecache import huge_share
from moe_bench.layers.onednn_worker import OneDnn
from moe_bench.layers.side import largest_token_distance
from moe_bench.layers.torch_worker import Torch
from moe_bench.peerfolder import PeerFolder
from moe_mlir.testing.compiling import moe_compile

CASES = ("T1-uniform", "T9-zipf")
LIMITS = {"float32": 1e-5, "bfloat16": 2e-2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("layer"))


@pytest.fixture(autouse=True)
def own_cores():
    """The compiled side binds the thread that opens it; the next test has all cores again."""
    cores = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, cores)


def check(side, folder, case, variants):
    """Runs some variants of a side and compares them with float64."""
    inputs = [side.case(*given) for given in zip(*arrays_of(folder, case))]
    for variant in variants:
        results = []
        for call, result in (calls[variant] for calls in inputs):
            for _ in range(2):  # a call leaves nothing behind
                call()
            results.append(np.array(result()).reshape(-1, SMALL.hidden))
        assert largest_token_distance(np.concatenate(results), expected(folder, case)) < LIMITS[side.dtype], variant


@pytest.mark.parametrize("dtype", LIMITS)
def test_compiled(folder, tmp_path, dtype):
    source = tmp_path / "layer.mlir"
    source.write_text(graph.text(SMALL, dtype))
    library = tmp_path / "layer.so"
    moe_compile(source, library, "--from=graph", "--emit=lib", f"--weights={folder / 'weights.safetensors'}")
    side = Compiled(SMALL, dtype, folder, [0], library)
    versions = side.describe()["versions"]
    assert versions["threads"] == 1 and versions["locked"] is ("VmLck:\t       0" not in Path("/proc/self/status").read_text())
    for case in CASES:
        check(side, folder, case, ["compiled"])
    prepared = side.prepare("T9-zipf", tmp_path)
    assert prepared["variants"] == ["compiled"] and 0 <= prepared["huge_pages"] <= 1
    file = str(tmp_path / "compiled.npy")
    assert largest_token_distance(np.load(file), expected(folder, "T9-zipf")) < LIMITS[dtype]
    assert side.compare(file, file) == {"distance": 0.0}
    assert side.run("compiled", 0.001)["calls"] >= 1


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("side, variants", [(Torch, ["torch-eager", "torch-grouped"]), (OneDnn, ["onednn"])])
def test_torch(folder, dtype, side, variants):
    side = side(SMALL, dtype, folder, [0])
    assert side.describe()["versions"]
    for case in CASES:
        check(side, folder, case, variants)


def test_share_of_huge_pages():
    smaps = """\
7f00-7f10 r--s 00000000 fe:00 12   /a/layer.so.weights
Rss:               6144 kB
FilePmdMapped:     4096 kB
7f10-7f20 r--s 00600000 fe:00 12   /a/layer.so.weights
Rss:               2048 kB
FilePmdMapped:        0 kB
7f20-7f30 r-xp 00000000 fe:00 13   /a/layer.so
Rss:                100 kB
FilePmdMapped:        0 kB
"""
    assert huge_share(smaps, "layer.so.weights") == 0.5
    assert huge_share(smaps, "other") is None


def test_peers_that_fit_into_memory_run_together():
    size = SMALL.experts * SMALL.expert_elements * 4
    all_names = [p.name for p in sides.PEERS]
    together = lambda available: [[p.name for p in g] for g in sides.groups(sides.PEERS, SMALL, "float32", available)]  # noqa: E731
    assert together(100 * size) == [all_names]
    assert together(2 * size) == [["pytorch", "onednn"], ["ggml", "onnxruntime"], ["openvino"]]
    assert [len(g) for g in together(0)] == [1] * 5
    assert [p.name for g in sides.groups(sides.PEERS, SMALL, "bfloat16", 9e9) for p in g] == [n for n in all_names if n != "onnxruntime"]


def test_missing_peers_are_named(tmp_path):
    folder = PeerFolder(tmp_path)
    folder.check([])
    installed = [p.name for p in sides.PEERS if p.installed]
    with pytest.raises(BenchError, match="peers ggml, onnxruntime, openvino are not installed: run scripts/bench-peers, or choose others with --peers"):
        folder.check(installed)
    (tmp_path / "peers.json").write_text(json.dumps({"ggml": "ggml/x.so", "llama.cpp": "v"}))
    folder.check(installed)
    assert folder.ggml() == (tmp_path / "ggml" / "x.so", "v")
    with pytest.raises(BenchError, match="is older than this script: run scripts/bench-peers again"):
        folder.llama()
