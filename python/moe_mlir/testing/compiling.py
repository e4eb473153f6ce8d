"""Export and compilation in tests."""

import os
import subprocess
from pathlib import Path

from ..errors import Error
from ..executable import Executable
from ..exporting import export


def compiler():
    """Path of moe-compile: $MOE_COMPILE, else of the build folder ($MOE_BUILD_DIR, default `build`)."""
    build = Path(os.environ.get("MOE_BUILD_DIR", Path(__file__).resolve().parents[3] / "build"))
    path = Path(os.environ.get("MOE_COMPILE", build / "bin" / "moe-compile"))
    if not path.is_file():
        raise Error(f"there is no '{path}': build the compiler first, or name it with MOE_COMPILE")
    return path


def moe_compile(source, output, *flags):
    """Run moe-compile; raises `Error` with what it printed if it fails."""
    command = [str(compiler()), str(source), "-o", str(output), "-q", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise Error(f"'{' '.join(command)}' ended with code {done.returncode}:\n{done.stderr.strip()}")
    return output


def compile_model(model, folder, *flags, threads=None, **options):
    """Export `model` (or a checkpoint directory) into `folder` and compile it. `options` are those of `export`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    export(model, folder / "model.pt2", **options)
    return Executable(moe_compile(folder / "model.pt2", folder / "model", *flags), threads=threads)


def step_inputs(tokens, position=0, keep=None):
    """Inputs of one call: `tokens` [B, S] at `position`; logits of all rows, or of those in `keep`."""
    import numpy as np

    batch, length = tokens.shape
    return {
        "input_ids": np.asarray(tokens, dtype=np.int64),
        "position": np.full(batch, position, dtype=np.int64),
        "logits_to_keep": np.asarray(range(length) if keep is None else keep, dtype=np.int64),
    }
