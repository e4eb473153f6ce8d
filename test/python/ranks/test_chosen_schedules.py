"""Schedules that the compiler finds: of an exported model's layers, as --report shows them, and of layers of every shape."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest
import torch
from layer import Drawn, write_all

from moe_mlir.testing.compiling import compiler, export_model
from moe_mlir.testing.full import FULL
from moe_mlir.testing.models import tiny_model

ROOT = Path(__file__).resolve().parents[3]
LAYERS = 6  # of a program
PROGRAMS = range(24 if FULL else 10)


def test_report_of_a_model(tmp_path):
    """For eight GPUs, with nothing said but their name: a line for each layer, its times and what is hidden."""
    export_model(tiny_model("olmoe", dtype=torch.bfloat16), tmp_path / "model.pt2", max_cache_len=128)
    command = [compiler(), "model.pt2", "--parallel=ep=8", "--target=cuda:h200", "--entry=layers", "-q", "-o", "model"]
    done = subprocess.run([*command, "--report"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "model.layers." in line]
    for layer in range(3):
        assert [line for line in lines if re.fullmatch(rf"model\.model\.layers\.{layer}\.mlp +[\d.]+ us +[\d.]+ us +[\d.]+ us +\d+ %", line)]
    # Their schedules are the same, which is said once.
    [chosen] = [line for line in lines if line.endswith(", simulated for 8 x H200, 8192 tokens of each")]
    assert re.match(r"model\.model\.layers\.0\.mlp: (plain|parts|overlap)\b", chosen)
    subprocess.run([*command, "--report=report.json"], cwd=tmp_path, check=True)
    schedules = json.loads((tmp_path / "report.json").read_text())["schedules"]
    assert [each["name"] for each in schedules] == [f"model.model.layers.{layer}.mlp" for layer in range(3)]
    for each in schedules:
        assert 0 < each["floor_seconds"] <= each["estimate_seconds"] <= each["plain_seconds"] and 0 <= each["hidden"] <= 1


def draw(source, ranks):
    """A layer of odd sizes, often with no more than an expert for each rank, or with all experts for each token."""
    experts = ranks * source.choice([1, 1, 2, 3])
    k = source.choice([1, min(2, experts), experts, experts])
    return Drawn(experts, k, source.randint(1, 300), source.randint(1, 200), source.random() < 0.5, source.choice(["f32", "bf16"]), 1, "random")


@pytest.mark.parametrize("number", PROGRAMS)
def test_every_shape_has_a_schedule(number, tmp_path):
    source = random.Random(number)
    ranks = source.choice([2, 4, 8])
    flags = write_all([draw(source, ranks) for _ in range(LAYERS)], tmp_path)
    hosts = json.loads((ROOT / "data" / "clusters" / "cpu.json").read_text()) | {"ranksPerNode": 1}
    hosts["network"]["bytesPerSecond"] = 1e8
    (tmp_path / "hosts.json").write_text(json.dumps(hosts))
    for cluster in ("H200", "L20", tmp_path / "hosts.json"):
        tokens = source.choice([1, ranks - 1, ranks, 3 * ranks, 64 * ranks, 4096 * ranks])
        command = [compiler(), tmp_path / "layer.mlir", *flags, f"--parallel=ep={ranks}", f"--cluster={ranks}x{cluster}", f"--schedule-tokens={tokens}"]
        done = subprocess.run([*command, "--to=scheduled", "-q", "-o", "-"], capture_output=True, text=True)
        assert done.returncode == 0, (tokens, done.stderr)
        assert len(re.findall(r"schedule\(<(?:plain|parts = \d+|overlap, [^>]*)>\)", done.stdout)) == LAYERS
