"""(g) Whole programs as a user runs them: layers in each type, ops of models, MoE layers of models, and ranks that share the GPU."""

import json
import subprocess

import numpy as np

from ..packing import unpacked
from ..stepping import Part, main

PROGRAMS = "program-cases"
NCCL = "nccl, one rank"


def deviation(y, expected, case):
    """How far an output is from what it should be, 1 being all that is allowed. `bound`: of the largest value, 0 for equal bits. With `typical`, the rows' errors
    are of their own largest value: half of them within that, nine of ten within the bound."""
    if y.shape != expected.shape or y.dtype != expected.dtype:
        return float("inf")
    if not y.size:
        return 0.0
    if not case["bound"]:
        return 0.0 if y.tobytes() == expected.tobytes() else float("inf")
    y, expected = y.astype(np.float64), expected.astype(np.float64)
    if not np.isfinite(y).all():
        return float("inf")
    if not case["typical"]:
        return np.abs(y - expected).max() / (case["bound"] * max(np.abs(expected).max(), 1e-30))
    errors = np.abs(y - expected).max(axis=-1) / np.abs(expected).max(axis=-1)
    return max(np.median(errors) / case["typical"], np.quantile(errors, 0.9) / case["bound"] if len(errors) > 9 else 0)


def parts(bundle, sizes):
    if (bundle / "nccl").is_dir():
        yield Part(NCCL, seconds=30, least=5)
    file = bundle / PROGRAMS / "cases.json"
    for case in json.loads(file.read_text()) if file.is_file() else []:
        yield Part(case["name"], {"case": case}, seconds=25, least=5)


def check_nccl(step, seconds):
    """NCCL as the machine has it: what one rank can do with it (runtime/test/cuda/OneRank.cpp)."""
    with unpacked(step.bundle / "nccl") as folder:
        done = subprocess.run([str(folder / "nccl_one_rank")], capture_output=True, text=True, timeout=max(5, seconds))
    # Where the steps run without a GPU it says so.
    without = "cpu" in step.seam.executable_flags(seconds)
    step.write("nccl", code=done.returncode, said=(done.stdout + done.stderr).strip()[-1000:], passed=done.returncode == (1 if without else 0))


def check_program(step, case, seconds):
    flags = [str(flag) for flag in step.seam.executable_flags(seconds)]
    with unpacked(step.bundle / PROGRAMS / case["folder"]) as place:
        program = place / "program"
        if "cpu" in flags and not case["cpu"]:
            done = subprocess.run([str(program), "--info", "--kernels"], capture_output=True, text=True, timeout=max(5, seconds))
            step.write("program", code=done.returncode, said=done.stderr.strip()[-600:], passed=done.returncode == 0)
            return
        lines = [
            " ".join([*(f"--input {name}=@{place / f'{number}.{name}.npy'}" for name in names), f"--output-dir {place / f'out{number}'}"])
            for number, names in enumerate(case["calls"])
        ]  # fmt: skip
        (place / "calls").write_text("\n".join(lines) + "\n")
        command = [str(program), *case["flags"], "--calls", str(place / "calls"), *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(5, seconds))
        worst = []
        for number in range(len(lines) if done.returncode == 0 else 0):
            for file in sorted((place / f"expected{number}").glob("*.npy")):
                worst.append(deviation(np.load(place / f"out{number}" / file.name), np.load(file), case))
        passed = done.returncode == 0 and bool(worst) and bool(max(worst) <= 1)
        step.write("program", code=done.returncode, said=done.stderr.strip()[-600:], worst=[float(f"{x:.3g}") for x in worst], passed=passed)


def run(step, part):
    seconds = min(part.seconds, step.left) - 2
    if part.name == NCCL:
        check_nccl(step, seconds)
    else:
        check_program(step, part.arguments["case"], seconds)


if __name__ == "__main__":
    main("programs", parts, run, device=False)
