"""(f) The compiler's executables as a user runs them: one layer's numbers, and the benchmark of layers with weights made on the spot."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .. import reference
from ..stepping import Step

TOKENS = (1, 8, 8192)


def run(program, *arguments, seconds):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=max(5, seconds))
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def check_numbers(step, folder):
    """The small layer on its own weights, against float64."""
    program = folder / "layer" / "layer"
    # A kernel that hangs is named by the program, before the step has to end it.
    deadline = max(1, step.left - 5)
    run(program, "--input", f"x=@{folder / 'layer' / 'x.npy'}", "--output-dir", folder / "out", "--deadline", deadline,
        seconds=step.left)
    y = np.load(folder / "out" / "y.npy").astype(np.float64)
    worst = reference.worst(y, np.load(folder / "layer" / "expected.npy"), np.load(folder / "layer" / "terms.npy"))
    step.write("numbers", program="layer", worst=worst, passed=worst <= 1)


def benchmark(step, folder, model, tokens):
    samples = folder / f"{model}-{tokens}.jsonl"
    arguments = ["--random-weights", 1, "--benchmark", "--size", f"tokens={tokens}", "--repeat", 20, "--samples", samples]
    output = run(folder / model / model, *arguments, seconds=step.left)
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    step.write("benchmark", model=model, tokens=tokens, output=output[-2000:], samples=lines[:25])


def main():
    step = Step("executables")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in sorted((step.bundle / "executables").iterdir()):
            # Wherever the bundle came from, its programs can be run.
            shutil.copytree(source, folder / source.name)
            (folder / source.name / source.name).chmod(0o755)
        step.attempt("layer", check_numbers, step, folder)
        for model in sorted(path.name for path in folder.iterdir() if path.name not in ("layer", "out")):
            for tokens in TOKENS:
                if step.left > 10:
                    step.attempt(f"{model} T={tokens}", benchmark, step, folder, model, tokens)
    step.end()


if __name__ == "__main__":
    main()
