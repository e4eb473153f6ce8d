"""(f) The compiler's executables as a user runs them: one layer's numbers, and the benchmark of layers with weights made on the spot."""

import json
import subprocess

import numpy as np

from .. import reference
from ..packing import unpacked
from ..stepping import Part, main



def execute(program, *arguments, seconds):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=max(5, seconds))
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def check_numbers(step, folder, seconds):
    """The small layer on its own weights, against float64."""
    flags = step.seam.executable_flags(seconds)
    execute(folder / "layer", "--input", f"x=@{folder / 'x.npy'}", "--output-dir", folder / "out", *flags, seconds=seconds)
    y = np.load(folder / "out" / "y.npy").astype(np.float64)
    worst = reference.worst(y, np.load(folder / "expected.npy"), np.load(folder / "terms.npy"))
    step.write("numbers", program="layer", worst=worst, passed=worst <= 1)


def benchmark(step, folder, model, tokens, seconds):
    samples = folder / f"{model}-{tokens}.jsonl"
    arguments = ["--random-weights", 1, "--benchmark", "--size", f"tokens={tokens}", "--repeat", 20, "--samples", samples]
    output = execute(folder / model, *arguments, *step.seam.executable_flags(seconds), seconds=seconds)
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    step.write("benchmark", model=model, tokens=tokens, output=output[-2000:], samples=lines[:25])


def parts(bundle, sizes):
    yield Part("layer", seconds=15)
    for model in sizes.executables:
        for tokens in sizes.executable_tokens:
            yield Part(f"{model} T={tokens}", {"model": model, "tokens": tokens}, seconds=20, least=8)


def run(step, part):
    name = part.arguments.get("model", "layer")
    seconds = min(part.seconds, step.left) - 2
    with unpacked(step.bundle / "executables" / name) as place:
        if name == "layer":
            check_numbers(step, place, seconds)
        else:
            benchmark(step, place, name, part.arguments["tokens"], seconds)


if __name__ == "__main__":
    main("executables", parts, run, device=False)
