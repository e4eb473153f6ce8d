"""(e) compute-sanitizer on the smallest case of the numerics, or "not available"."""

import os
import shutil
import subprocess
import sys

from ..stepping import Part, main

PLACES = ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer")
TOOLS = ("memcheck", "racecheck", "synccheck")
REFUSALS = ("not supported", "Unable to", "Failed to initialize", "Target application terminated before")


def run_tool(step, program, tool):
    out = step.options.out.with_suffix(f".{tool}.tmp")
    command = [program, "--tool", tool, "--error-exitcode", "9", "--print-limit", "5", sys.executable, "-m", "gpu_check.steps.numerics"]
    command += ["--bundle", str(step.bundle), "--out", str(out), "--few", "--seam", step.options.seam]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(5, min(step.part.seconds, step.left) - 2), env=os.environ)
    except subprocess.TimeoutExpired:
        step.write("sanitizer", tool=tool, result="not available", message="no result within the time of the step")
        return
    finally:
        out.unlink(missing_ok=True)
    text = done.stdout + done.stderr
    if done.returncode not in (0, 9) and any(words in text for words in REFUSALS):
        step.write("sanitizer", tool=tool, result="not available", message=text[-500:])
    else:
        step.write("sanitizer", tool=tool, result="clean" if done.returncode == 0 else "errors", message=text[-1500:], passed=done.returncode == 0)


def parts(bundle, sizes):
    for tool in TOOLS:
        yield Part(tool, seconds=30, least=8)


def run(step, part):
    program = shutil.which("compute-sanitizer") or next((path for path in PLACES if os.access(path, os.X_OK)), None)
    if program is None:
        step.write("sanitizer", tool=part.name, result="not available", message="there is no compute-sanitizer")
    else:
        run_tool(step, program, part.name)


if __name__ == "__main__":
    main("sanitizer", parts, run, device=False)
