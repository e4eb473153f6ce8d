"""Shows without a GPU that a bundle is complete: its files, its Python, and each of its kernels on the emulated GPU."""

import ast
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from . import reference
from .cases import MODELS, NUMERICS, name_of
from .emulation import EmulatedDevice, RuleBroken
from .execution import Execution
from .manifest import digest
from .numerics import check, load_records
from .program import Program
from .runner import STEPS

# Packages of the machine with the GPU; every other import must be found here. What can be had of them here is used.
THERE = {"torch", "triton"}


def check_files(bundle):
    """Yields what is missing, of the wrong size, or not listed."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    present = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file() and "__pycache__" not in path.parts} - {"manifest.json"}
    for name, (size, expected) in manifest["files"].items():
        path = bundle / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.stat().st_size != size or digest(path) != expected:
            yield f"{name} is not the file of the manifest"
    for name in sorted(present - set(manifest["files"])):
        yield f"{name} is not in the manifest"


def check_programs(bundle):
    """Yields what a step would not find."""
    for name in [*MODELS, *(name_of(*case) for case in NUMERICS)]:
        folder = bundle / "programs" / name
        if not folder.is_dir():
            yield f"the program of {name} is missing"
            continue
        program = Program.load(folder)
        for tokens in (0, 1, 8192):
            for launch in program.plan(tokens).launches:
                if launch.kernel not in program.kernels:
                    yield f"{name}: kernel {launch.kernel} is missing"
        for kernel in program.kernels:
            if not program.cubins.get(kernel, b"").startswith(b"\x7fELF"):
                yield f"{name}: {kernel} has no cubin"
    for name in ("layer/layer", "layer/layer.weights", "layer/x.npy", "layer/expected.npy", "layer/terms.npy"):
        if not (bundle / "executables" / name).is_file():
            yield f"executables/{name} is missing"
    for case in NUMERICS:
        if not (bundle / "records" / f"{name_of(*case)}.npz").is_file():
            yield f"the records of {name_of(*case)} are missing"


def imports_of(path):
    """Absolute imports of a file, at any depth; a syntax error is raised."""
    tree = ast.parse(path.read_text(), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def has(python, package):
    """Whether an interpreter has a package."""
    command = [python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"]
    return subprocess.run(command, capture_output=True).returncode == 0


def check_python(bundle, pythons=(sys.executable,)):
    """Yields files that do not parse, modules that nobody has, steps that cannot be imported, and names that their packages do not have.

    `pythons`: interpreters, of which the first that has what a step needs imports it.
    """
    broken = False
    owners = {package: [python for python in pythons if has(python, package)] for package in sorted(THERE)}

    def run(python, *arguments):
        environment = {"PYTHONPATH": str(bundle / "benchmarks"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([python, *arguments], cwd=bundle, capture_output=True, text=True, env=environment)

    for path in sorted([*bundle.rglob("*.py"), bundle / "scripts" / "gpu-check"]):
        try:
            names = set(imports_of(path))
        except SyntaxError as error:
            yield f"{path.relative_to(bundle)}: {error}"
            broken = True
            continue
        for name in sorted(names - THERE - {"gpu_check"}):
            beside = (bundle / "runtime" / "test" / "emulation" / f"{name}.py").is_file()
            if not beside and importlib.util.find_spec(name) is None:
                yield f"{path.relative_to(bundle)} imports {name}, which is nowhere"
    for step in [] if broken else STEPS:
        module = f"gpu_check.steps.{step.name}"
        if not (bundle / "benchmarks" / "gpu_check" / "steps" / f"{step.name}.py").is_file():
            yield f"{module} is missing"
            continue
        needed = needed_packages(bundle, step.name)
        python = next((python for python in pythons if all(python in owners[package] for package in needed)), None)
        if python is None:
            print(f"   {module} is parsed, not imported: no Python with {', '.join(needed)}")
            continue
        done = run(python, "-c", f"import {module}")
        if done.returncode:
            yield f"{module}: {done.stderr.strip().splitlines()[-1]}"
    for package, found in owners.items():
        files = [] if broken else [str(path.relative_to(bundle)) for path in sorted(bundle.rglob("*.py")) if package in imports_of(path)]
        if not files:
            continue
        if not found:
            print(f"   names of {package} are not looked up, no Python has it: {', '.join(files)}")
            continue
        done = run(found[0], "-m", "gpu_check.names", package, *files)
        yield from done.stdout.splitlines() if done.returncode == 0 else [f"names of {package}: {done.stderr.strip().splitlines()[-1]}"]


def needed_packages(bundle, step):
    """Of `THERE`, those that importing a step needs: at the top of its file or of the package's files that it imports there."""
    seen, queue, needed = set(), [bundle / "benchmarks" / "gpu_check" / "steps" / f"{step}.py"], set()
    while queue:
        path = queue.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import):
                needed |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                queue += [bundle / "benchmarks" / "gpu_check" / f"{name.split('.')[0]}.py" for name in names]
            elif isinstance(node, ast.ImportFrom):
                needed.add(node.module.split(".")[0])
    return sorted(needed & THERE)


def check_emulated(bundle, library, compiler, folder):
    """Yields launches of the bundle's programs that do not do, on the emulated GPU, what was recorded."""
    for tokens, layer in NUMERICS:
        program = Program.load(bundle / "programs" / name_of(tokens, layer))
        device = EmulatedDevice(library, compiler, Path(folder), multiprocessors=3, timing="eager")
        device.load(program)
        for finding in check(program, tokens, load_records(bundle / "records" / f"{program.name}.npz"), device):
            if not finding["passed"]:
                yield f"{program.name}: {finding}"


def check_executables(bundle):
    """Yields executables that do not say what they are, or whose code for the CPU computes something else."""
    for folder in sorted((bundle / "executables").iterdir()):
        done = subprocess.run([str(folder / folder.name), "--info", "--kernels"], capture_output=True, text=True)
        if done.returncode or "sm_90a" not in done.stdout:
            yield f"{folder.name}: --info: exit code {done.returncode}, {(done.stderr or done.stdout).strip()[-200:]}"
    layer = bundle / "executables" / "layer"
    with tempfile.TemporaryDirectory() as out:
        command = [str(layer / "layer"), "--device", "cpu", "--input", f"x=@{layer / 'x.npy'}", "--output-dir", out]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            yield f"layer: {done.stderr.strip()}"
            return
        y = np.load(Path(out) / "y.npy").astype(np.float64)
        if (worst := reference.worst(y, np.load(layer / "expected.npy"), np.load(layer / "terms.npy"))) > 1:
            yield f"layer: the code for the CPU is wrong by {worst} of the bound"


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
