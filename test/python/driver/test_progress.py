"""The numbers of phases: each once, from the first to the total that they say."""

import re
from pathlib import Path

import pytest

from compiling import compile_model, pack
from moe_mlir.testing.full import sample

LAYERS = Path(__file__).resolve().parents[2] / "Tools" / "moe-compile" / "auto.mlir"
ENDS = {"exe": [], "lib": ["--emit=lib"], "obj": ["--emit=obj"], "spmd": ["--to=spmd"], "kernel": ["--to=kernel"], "runtime": ["--to=runtime"]}
WAYS = {"plain": [], "auto": ["--parallel=auto,ranks=2", "--schedule-tokens=8"], "ep": ["--parallel=ep=2"],
        "variant": ["--parallel=ep=2", "--variant=dp=2"]}


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    return {"text": LAYERS, "model": pack(tmp_path_factory.mktemp("model") / "m.pt2", "olmoe.json")}


PHASES = [*(("text", way, end) for way in ("plain", "auto") for end in ENDS), ("text", "variant", "exe"), ("model", "plain", "exe"),
          ("model", "auto", "spmd"), ("model", "ep", "exe")]


# In an ordinary run each way and each end.
@pytest.mark.parametrize("kind, way, end", sample(PHASES, 1, 2, 4, 6, 9, 11, 12, 13, 14, 15))
def test_each_phase_has_its_number(kind, way, end, sources, tmp_path):
    done = compile_model(sources[kind], *WAYS[way], *ENDS[end], "--weights=none", "--progress=plain",
                         "-o", tmp_path / "p")
    assert done.returncode == 0, done.stderr
    numbers = re.findall(r"^\[(\d+)/(\S+)\] +[\d.]+ s ", done.stderr, re.M)
    assert len(numbers) > 1 and numbers == [(str(i + 1), str(len(numbers))) for i in range(len(numbers))], done.stderr
