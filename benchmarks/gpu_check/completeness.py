"""Is a bundle complete? Its files, the programs that steps load, and the executables by their code for the CPU."""

import json
import subprocess

import numpy as np

from . import reference
from .cases import NUMERICS, name_of
from .manifest import digest
from .microkernels import FILES
from .packing import SUFFIX, unpacked
from .partial import load_kinds
from .program import Program
from .sizes import DRY, REAL


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
    for name in [*REAL.models, *DRY.models, *(name_of(*case) for case in NUMERICS)]:
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
    for model in (*REAL.measured, *DRY.measured):
        kinds = load_kinds(bundle / "variants" / model)
        if not kinds or not (bundle / "stamps" / model).is_dir():
            yield f"{model}: there are no variants or no stamps"
            continue
        for folder in [bundle / "stamps" / model, *(bundle / "variants" / model / kind.name for kind in kinds)]:
            program = Program.load(folder)
            yield from (f"{folder.relative_to(bundle)}: {kernel} has no cubin" for kernel in program.kernels if kernel not in program.cubins)
    for name in (*FILES, "constants"):
        if not (bundle / "micro" / (f"{name}.cubin" if name in FILES else f"{name}.json")).is_file():
            yield f"micro/{name} is missing"
    for name in (f"layer/layer{SUFFIX}", "layer/layer.weights", "layer/x.npy", "layer/expected.npy", "layer/terms.npy"):
        if not (bundle / "executables" / name).is_file():
            yield f"executables/{name} is missing"
    for case in NUMERICS:
        if not (bundle / "records" / f"{name_of(*case)}.npz").is_file():
            yield f"the records of {name_of(*case)} are missing"


def check_executables(bundle):
    """Yields executables that do not say what they are, or whose code for the CPU computes something else."""
    for folder in sorted((bundle / "executables").iterdir()):
        with unpacked(folder) as place:
            done = subprocess.run([str(place / folder.name), "--info", "--kernels"], capture_output=True, text=True)
        if done.returncode or "sm_90a" not in done.stdout:
            yield f"{folder.name}: --info: exit code {done.returncode}, {(done.stderr or done.stdout).strip()[-200:]}"
    with unpacked(bundle / "executables" / "layer") as layer:
        out = layer / "out"
        command = [str(layer / "layer"), "--device", "cpu", "--input", f"x=@{layer / 'x.npy'}", "--output-dir", str(out)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            yield f"layer: {done.stderr.strip()}"
            return
        y = np.load(out / "y.npy").astype(np.float64)
        if (worst := reference.worst(y, np.load(layer / "expected.npy"), np.load(layer / "terms.npy"))) > 1:
            yield f"layer: the code for the CPU is wrong by {worst} of the bound"
