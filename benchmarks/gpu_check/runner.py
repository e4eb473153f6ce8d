"""Runs the steps of a check, each in a process of its own with its own limit, samples the device's clocks meanwhile, and sums up what they
wrote."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .clocks import Clocks
from .device import REAL
from .stepping import read_lines

TOTAL = 480  # seconds for everything
GRACE = 10  # that a step gets beyond the time it was told: its own watchdog ends its parts
REAPING = 10  # that a killed step gets to end
LEAST = 5  # seconds for which no step is begun


@dataclass(frozen=True)
class StepPlan:
    name: str
    seconds: int  # its limit
    what: str
    last: bool = False  # time for it is kept back from the steps before it
    module: str = ""  # of the step, where it is not its name

    def command(self, python, bundle, out, seconds, seam):
        module = f"gpu_check.steps.{self.module or self.name}"
        return [python, "-m", module, "--bundle", str(bundle), "--out", str(out), "--seconds", f"{seconds:.1f}", "--seam", seam]


# In the order of their value: a later step may find no time left.
STEPS = [
    StepPlan("floor", 15, "what the device reaches before the steps"),
    StepPlan("numerics", 40, "every kernel against the emulated GPU's records, layers in all elements against float64, 20 runs bitwise equal"),
    StepPlan("launches", 40, "each launch of two models' layers alone, beside the cost model's terms"),
    StepPlan("ablations", 45, "the same with one thing changed at a time"),
    StepPlan("layers", 105, "forward passes of five models' layers, with cuBLAS, then in turns with their peers"),
    StepPlan("stamps", 20, "when each tile has its first stage, its last product, its results"),
    StepPlan("micro", 25, "figures that the cost model assumes"),
    StepPlan("graphs", 20, "100 replays of a CUDA graph with changing routing"),
    StepPlan("ranks", 30, "virtual ranks: put, signal, wait, a silent rank"),
    StepPlan("executables", 30, "the compiler's executables: numbers of a layer, benchmarks with weights made on the spot"),
    StepPlan("sessions", 25, "shared objects on values of the GPU: run by run, and captured in a CUDA graph with changing tokens"),
    StepPlan("programs", 30, "whole programs against their code for a CPU: layers in each type, layers of models, ranks that share the GPU, other ops"),
    StepPlan("sanitizer", 33, "compute-sanitizer"),
    StepPlan("floor-again", 12, "what the device reaches after the steps", last=True, module="floor"),
]


def run_step(plan, bundle, out, seconds, environment, seam, python):
    """The summary of a step."""
    file, output = out / f"{plan.name}.jsonl", out / f"{plan.name}.output"
    start = time.perf_counter()
    # Into a file: what a killed process leaves behind may keep a pipe open.
    with output.open("w") as to:
        process = subprocess.Popen(
            plan.command(python, bundle, file, seconds, seam), env=environment, stdin=subprocess.DEVNULL, stdout=to, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(seconds + GRACE)
            state = {0: "passed", 3: "failed"}.get(code, f"ended with code {code}")
        except subprocess.TimeoutExpired:
            state = "out of time" if end(process) else "out of time, does not end"
    lines, said = read_lines(file), output.read_text(errors="replace")
    output.unlink()
    return {
        "step": plan.name, "what": plan.what, "state": state, "seconds": round(time.perf_counter() - start, 1), "lines": len(lines),
        "skipped": sum(line["type"] == "skipped" for line in lines), "hangs": [line["part"] for line in lines if line["type"] == "hang"],
        "sporadic faults": [line for line in lines if line["type"] == "sporadic fault"],
        "failed": [line for line in lines if line.get("passed") is False][:20], "output": said[-4000:] if state != "passed" else "",
    }  # fmt: skip


def end(process):
    """Kills a step with its children; whether it ended. What hangs in the driver may not."""
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(REAPING)
        return True
    except subprocess.TimeoutExpired:
        return False


def floor_change(out):
    """The device's own rates before and after the steps."""
    from .measuring import floor_of

    before, after = floor_of(out), floor_of(out, "floor-again")
    return {name: {"before": before.get(name), "after": after.get(name)} for name in {**before, **after}}


def run(bundle, out, steps=STEPS, total=TOTAL, seam=REAL, python=sys.executable, path=()):
    """All steps; writes summary.json after each of them. `path`: folders of modules that the seam needs. Returns the summaries."""
    start, summaries, out = time.perf_counter(), [], out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    manifest = json.loads((bundle / "manifest.json").read_text())
    folders = [str(Path(__file__).resolve().parents[1]), *map(str, path), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with Clocks(out / "clocks.jsonl") as clocks:
        for number, plan in enumerate(steps):
            kept = sum(later.seconds for later in steps[number + 1 :] if later.last)
            left = total - GRACE - (time.perf_counter() - start) - kept
            if left < LEAST:
                summaries.append({"step": plan.name, "what": plan.what, "state": "no time left", "seconds": 0})
            else:
                print(f"== {plan.name}: {plan.what}", flush=True)
                clocks.begin(plan.name)
                summaries.append(run_step(plan, bundle, out, min(plan.seconds, left), environment, seam, python))
                summaries[-1]["clocks"] = clocks.summary(plan.name)
                print(f"   {summaries[-1]['state']}, {summaries[-1]['seconds']} s", flush=True)
            summary = {
                "commit": manifest["commit"], "bundled": manifest["date"], "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "seconds": round(time.perf_counter() - start, 1), "clocks": clocks.source, "floor": floor_change(out), "steps": summaries,
            }  # fmt: skip
            (out / "summary.json.new").write_text(json.dumps(summary, indent=1) + "\n")
            (out / "summary.json.new").replace(out / "summary.json")
    return summaries
