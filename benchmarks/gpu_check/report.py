"""The GPU section of docs/Performance.md, from the result files that are there and from nothing else.

    PYTHONPATH=benchmarks python -m gpu_check.report           # prints it
    PYTHONPATH=benchmarks python -m gpu_check.report --write   # puts it into the page

Results of scripts/gpu-check lie in benchmarks/results/gpu/<date>-<commit>/, as the check wrote them.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "gpu"
PAGE = ROOT / "docs" / "Performance.md"
SECTION = re.compile(r"(?<=^## On a GPU\n\n).*?(?=^## |\Z)", re.M | re.S)
OURS = "moe-mlir"
NOT_MEASURED = """Not measured. The kernels of MoE layers are proved on an emulated GPU and compiled for sm_90a ([Cuda](Cuda.md)); nothing about their
speed is known until `scripts/gpu-check` has run on an H200 and its result files stand in `benchmarks/results/gpu/`.
"""


def read(folder):
    """(summary, lines of the step that measures layers)"""
    summary = json.loads((folder / "summary.json").read_text())
    file = folder / "layers.jsonl"
    return summary, [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def microseconds(seconds):
    return f"{seconds * 1e6:.0f}" if seconds < 1e-2 else f"{seconds * 1e3:.1f} ms"


def row(line):
    sides = line["sides"]
    cells = [line["model"], str(line["tokens"]), line["routing"]]
    ours = sides.get(OURS)
    if ours:
        cells += [microseconds(ours["median"]), f"{ours['TFLOP/s']:.0f}", f"{ours['GB/s']:.0f}", f"{ours['of the floor']:.2f}"]
    else:
        cells += ["failed", "", "", ""]
    for name in ("torch _grouped_mm", "Triton grouped", "cuBLAS dense"):
        cells.append(microseconds(sides[name]["median"]) if name in sides else "")
    return "| " + " | ".join(cells) + " |"


def section(results=RESULTS):
    folders = sorted(results.iterdir()) if results.is_dir() else []
    if not folders:
        return NOT_MEASURED
    summary, lines = read(folders[-1])
    text = [f"Run of {summary['date'][:10]}, commit {summary['commit'][:10]}; files in `benchmarks/results/gpu/{folders[-1].name}/`.", ""]
    text += ["| step | state | seconds |", "|---|---|---|"]
    text += [f"| {step['step']}: {step['what']} | {step['state']} | {step['seconds']} |" for step in summary["steps"]]
    for device in (line for line in lines if line["type"] == "device"):
        floor = f"{device['product operations/s'] / 1e12:.0f} TFLOP/s in a product of 8192 x 8192 x 8192, "
        floor += f"{device['read bytes/s'] / 1e12:.2f} TB/s reading, {device['copy bytes/s'] / 1e12:.2f} TB/s copying"
        text += ["", f"{device['name']}, PyTorch {device['torch']}, driver {device['driver']}. Measured there: {floor}."]
    rows = [line for line in lines if line["type"] == "row"]
    if rows:
        text += ["", "Medians per forward pass in microseconds where no unit is given; bf16; routing and combine included, except in cuBLAS's column.", ""]
        text += ["| model | tokens | routing | moe-mlir | TFLOP/s | GB/s | of the floor | `_grouped_mm` | Triton | cuBLAS |", "|---" * 10 + "|"]
        text += [row(line) for line in rows]
    skipped = sum(line["type"] == "skipped" for line in lines)
    if skipped:
        text += ["", f"{skipped} rows were not measured: the time of the step was over."]
    return "\n".join(text) + "\n"


def main():
    if "--write" in sys.argv[1:]:
        PAGE.write_text(SECTION.sub(lambda _: section(), PAGE.read_text()))
    else:
        print(section(), end="")


if __name__ == "__main__":
    main()
