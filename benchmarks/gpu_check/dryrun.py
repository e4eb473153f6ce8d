"""What a GPU would run, on the emulated one: the kernels of all programs, and the steps with small sizes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from .cases import MODELS, NUMERICS, name_of
from .emulation import EmulatedDevice, RuleBroken
from .execution import Execution
from .imports import has, needed_packages
from .numerics import check, load_records
from .partial import load_kinds, load_partial
from .program import Program
from .runner import STEPS, run
from .sizes import REAL

LIMIT = 150  # seconds of a step on the emulated GPU


def check_emulated(bundle, library, compiler, folder):
    """Yields launches of the bundle's programs that do not do, on the emulated GPU, what was recorded."""
    for tokens, layer in NUMERICS:
        program = Program.load(bundle / "programs" / name_of(tokens, layer))
        device = EmulatedDevice(library, compiler, Path(folder), multiprocessors=3, timing="eager")
        device.load(program)
        for finding in check(program, tokens, load_records(bundle / "records" / f"{program.name}.npz"), device):
            if not finding["passed"]:
                yield f"{program.name}: {finding}"


def check_models(bundle, library, compiler, folder, tokens=2):
    """Yields rules that the kernels of the models' layers break: all launches of a layer, of the products one tile each."""
    for name, layer in MODELS.items():
        program = Program.load(bundle / "programs" / name)
        device = EmulatedDevice(library, compiler, Path(folder), sampled=True, timing="lazy")
        device.load(program)
        x = np.full((tokens, layer.H), 0x3F80, np.uint16)
        try:
            Execution(device, program.plan(tokens), program.kernels, {"x": x}, None).run()
        except RuleBroken as fault:
            yield f"{name}: {fault}"


def check_variants(bundle, library, compiler, folder, tokens=20):
    """Yields rules that the variants of the first measured model break, in the first tile of each product. All tokens go to the same experts, so
    that the tile has many rows."""
    for model in REAL.measured[:1]:
        base, kinds = Program.load(bundle / "programs" / model), load_kinds(bundle / "variants" / model)
        parts = {kind.name: load_partial(bundle / "variants" / model / kind.name, base) for kind in kinds}
        # One text for all of them, each with names of its own.
        other = {
            (kind.name, name): replace(kernel, name=f"{name}_{number}", text=kernel.text.replace(f"{name}(", f"{name}_{number}("))
            for number, kind in enumerate(kinds) for name, kernel in parts[kind.name].kernels.items() if name in kind.kernels
        }  # fmt: skip
        device = EmulatedDevice(library, compiler, Path(folder), sampled=True, timing="lazy")
        device.load(base)
        device.load(Program(model, base.layer, "", {kernel.name: kernel for kernel in other.values()}, {}))
        x = np.full((tokens, base.layer.H), 0x3F80, np.uint16)
        for kind in kinds:
            kernels = base.kernels | {name: other[kind.name, name] for name in kind.kernels}
            try:
                Execution(device, parts[kind.name].plan(tokens), kernels, {"x": x}, None).run()
            except RuleBroken as fault:
                yield f"{model}, variant {kind.name}: {fault}"


def check_steps(bundle, out, settings, pythons, total=600, steps=STEPS):
    """Runs every step as on a GPU, on the emulated one and with small sizes; yields what did not pass.

    `settings`: of device/dry.py. Which steps PyTorch is missing for is said, and they are left out.
    """
    python = next((python for python in pythons if has(python, "torch")), None)
    plans = [replace(plan, seconds=LIMIT) for plan in steps]
    if python is None:
        left_out = [plan for plan in plans if "torch" in needed_packages(bundle, plan.module or plan.name)]
        print(f"   left out, no Python has torch: {', '.join(plan.name for plan in left_out)}")
        plans = [plan for plan in plans if plan not in left_out]
    seam = f"gpu_check.device.dry:{json.dumps(settings)}"
    for summary in run(bundle, out, plans, total, seam, python or pythons[0]):
        if summary["state"] != "passed" or summary.get("skipped"):
            yield f"the step {summary['step']}: {summary['state']}, {summary.get('skipped')} skipped: {summary.get('failed')} {summary.get('output')}"
