"""The results on docs/performance/gpu.md, from the result files that are there and from nothing else.

    PYTHONPATH=benchmarks python -m gpu_check.report           # prints it
    PYTHONPATH=benchmarks python -m gpu_check.report --write   # puts it into the page

Results of scripts/gpu-check lie in benchmarks/results/gpu/<date>-<commit>/, as the check wrote them.
"""

import json
import re
import sys
from pathlib import Path

from . import tables
from .measuring import floor_of
from .stepping import read_lines

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "gpu"
PAGE = ROOT / "docs" / "performance" / "gpu.md"
SECTION = re.compile(r"(?<=^## Results\n\n).*?(?=^## |\Z)", re.M | re.S)
NOT_MEASURED = """Not measured. The kernels of MoE layers are proved on an emulated GPU and compiled for sm_90a ([Cuda](../Cuda.md)); nothing about their
speed is known until `scripts/gpu-check` has run on an H200 and its result files stand in `benchmarks/results/gpu/`.
"""


def reached(floor):
    """Of {"read bytes/s", "copy bytes/s", "product operations/s"}, what there is."""
    text = []
    if "product operations/s" in floor:
        text.append(f"{floor['product operations/s'] / 1e12:.0f} TFLOP/s in a product of 8192 x 8192 x 8192")
    if "read bytes/s" in floor:
        text.append(f"{floor['read bytes/s'] / 1e12:.2f} TB/s reading, {floor['copy bytes/s'] / 1e12:.2f} TB/s copying")
    return ", ".join(text) or "nothing"


def device(folder):
    """What was measured, and what it reached before and after the steps."""
    for line in read_lines(folder / "floor.jsonl"):
        if line["type"] == "device":
            yield f"{line['name']}, PyTorch {line['torch']}, driver {line['driver']}. Measured there: {reached(floor_of(folder))}."
    after = floor_of(folder, "floor-again")
    if after:
        yield f"After all steps: {reached(after)}."


def states(summary):
    """A line per step, and one per part that hung or differed from run to run."""
    yield from ["| step | state | seconds |", "|---|---|---|"]
    for step in summary["steps"]:
        skipped = f", {step['skipped']} parts left out" if step.get("skipped") else ""
        yield f"| {step['step']}: {step['what']} | {step['state']}{skipped} | {step['seconds']} |"
    for step in summary["steps"]:
        for part in step.get("hangs", []):
            yield from ["", f"Hung and was ended: {step['step']}, {part}."]


def section(results=RESULTS):
    folders = sorted(results.iterdir()) if results.is_dir() else []
    if not folders:
        return NOT_MEASURED
    folder = folders[-1]
    summary = json.loads((folder / "summary.json").read_text())
    text = [f"Run of {summary['date'][:10]}, commit {summary['commit'][:10]}; files in `benchmarks/results/gpu/{folder.name}/`.", ""]
    text += states(summary)
    for sentence in device(folder):
        text += ["", sentence]
    for make in tables.ALL:
        text += make(folder)
    text += tables.clocks(summary)
    return "\n".join(text) + "\n"


def main():
    if "--write" in sys.argv[1:]:
        PAGE.write_text(SECTION.sub(lambda _: section(), PAGE.read_text()))
    else:
        print(section(), end="")


if __name__ == "__main__":
    main()
