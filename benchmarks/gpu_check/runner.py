"""Runs the steps of a check, each in a process of its own with its own limit, and sums up what they wrote."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TOTAL = 470  # seconds for everything
GRACE = 5  # that a step gets beyond the time it was told


@dataclass(frozen=True)
class StepPlan:
    name: str
    seconds: int  # its limit
    what: str


# In the order of their value: a later step may find no time left.
STEPS = [
    StepPlan("numerics", 60, "every kernel against the emulated GPU's records, layers against float64"),
    StepPlan("layers", 220, "forward passes of five models' layers, in turns with their peers"),
    StepPlan("graphs", 30, "100 replays of a CUDA graph with changing routing"),
    StepPlan("ranks", 40, "virtual ranks: put, signal, wait, a silent rank"),
    StepPlan("executables", 60, "the compiler's executables: numbers of a layer, benchmarks with weights made on the spot"),
    StepPlan("sanitizer", 60, "compute-sanitizer"),
]


def run_step(plan, bundle, out, seconds, environment):
    """The summary of a step."""
    file = out / f"{plan.name}.jsonl"
    command = [sys.executable, "-m", f"gpu_check.steps.{plan.name}", "--bundle", str(bundle), "--out", str(file), "--seconds", str(seconds)]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=seconds + GRACE)
        state = {0: "passed", 3: "failed"}.get(process.returncode, f"ended with code {process.returncode}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        state = "out of time"
    lines = read_lines(file)
    return {
        "step": plan.name, "what": plan.what, "state": state, "seconds": round(time.perf_counter() - start, 1), "lines": len(lines),
        "failed": [line for line in lines if line.get("passed") is False][:20], "output": output[-4000:] if state != "passed" else "",
    }  # fmt: skip


def read_lines(file):
    """What a step wrote; a last line that was cut off is left out."""
    lines = []
    for line in file.read_text().splitlines() if file.is_file() else []:
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines


def run(bundle, out, steps=STEPS, total=TOTAL):
    """All steps; writes summary.json after each of them. Returns the summaries."""
    start, summaries = time.perf_counter(), []
    out.mkdir(parents=True, exist_ok=True)
    manifest = json.loads((bundle / "manifest.json").read_text())
    path = os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]))
    # Everything that a step compiles or caches goes where the results go, and then away.
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for plan in steps:
        left = total - (time.perf_counter() - start) - GRACE
        if left < 10:
            summaries.append({"step": plan.name, "what": plan.what, "state": "no time left", "seconds": 0})
        else:
            print(f"== {plan.name}: {plan.what}", flush=True)
            summaries.append(run_step(plan, bundle, out, min(plan.seconds, left), environment))
            print(f"   {summaries[-1]['state']}, {summaries[-1]['seconds']} s", flush=True)
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        summary = {"commit": manifest["commit"], "bundled": manifest["date"], "date": date, "steps": summaries}
        (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return summaries
