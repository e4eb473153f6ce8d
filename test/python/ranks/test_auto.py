"""--parallel=auto takes the best of what it lists, and each estimate is that of the program that is written so."""

import json
import subprocess
from pathlib import Path

import pytest
from moe_mlir.testing.compiling import compiler

LAYER = Path(__file__).resolve().parents[2] / "Tools" / "moe-compile" / "auto.mlir"

# What --parallel takes beside the cluster, which has as many ranks, and tokens of a call.
CALLS = [("auto", "4xH200", 8192), ("auto,tokens=replicated", "4xH100", 16), ("auto,sums=bf16", "16xL20", 65536), ("auto", "2xcpu", 1), ("auto,ranks=2", "cpu", 512)]


def run(output, *flags):
    """The compiler's report of `output`."""
    report = output.with_suffix(".json")
    command = [str(compiler()), str(LAYER), *flags, "--to=kernel", "--target-cpu=x86-64-v3", "-q", "-o", str(output), f"--report={report}"]
    subprocess.run(command, check=True)
    return json.loads(report.read_text())["parallel"]


@pytest.mark.parametrize("text, cluster, tokens", CALLS)
def test_nothing_that_is_listed_is_better(text, cluster, tokens, tmp_path):
    call = [f"--cluster={cluster}", f"--schedule-tokens={tokens}"]
    chosen = run(tmp_path / "auto.mlir", f"--parallel={text}", *call)
    listed = [each for each in chosen["alternatives"] if "not_taken" not in each]
    assert len(listed) > 2 and chosen["parallel"] == listed[0]["parallel"]
    assert chosen["estimate_seconds"] == min(each["estimate_seconds"] for each in listed)
    # A few of them by themselves: with the number of ranks, which a name leaves open.
    sized = cluster if cluster[0].isdigit() else f"2x{cluster}"
    for each in (listed[0], listed[1], listed[-1]):
        alone = run(tmp_path / "alone.mlir", f"--parallel={each['parallel']}", f"--cluster={sized}", call[1])
        assert {key: alone[key] for key in each} == each
    assert run(tmp_path / "alone.mlir", f"--parallel={chosen['parallel']}", f"--cluster={sized}", call[1])
    text_of = [(tmp_path / name).read_text() for name in ("auto.mlir", "alone.mlir")]
    assert text_of[0] == text_of[1]


def test_estimates_follow_the_facts(tmp_path):
    """A link that is ten times slower makes only what uses it slower; half the memory leaves out what needs more."""
    cluster = json.loads((LAYER.parents[3] / "data" / "clusters" / "cpu.json").read_text())

    def estimates(**changes):
        file = tmp_path / "machine.json"
        file.write_text(json.dumps({**cluster, **changes}))
        found = run(tmp_path / "k.mlir", "--parallel=auto", f"--cluster=2x{file}", "--schedule-tokens=256")
        return {each["parallel"]: each for each in found["alternatives"]}

    usual, slow = estimates(), estimates(local={"bytesPerSecond": 1e9, "latency": 1e-6})
    for name, each in usual.items():
        assert (slow[name]["estimate_seconds"] > each["estimate_seconds"]) == (not name.startswith("dp="))
    between = (usual["dp=2"]["memory_bytes"] + usual["tp=2,etp=2"]["memory_bytes"]) / 2
    small = estimates(device={**cluster["device"], "memoryBytes": 2 * between})
    assert "a rank takes" in small["dp=2"]["not_taken"] and "not_taken" not in small["tp=2,etp=2"]
