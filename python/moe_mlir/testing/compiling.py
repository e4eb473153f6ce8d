"""Export and compilation in tests. What is made of equal things is made once per run, see `shared`."""

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

from ..errors import Error
from ..executable import Executable
from . import shared
from .paths import ROOT

# Flags whose text says all about them, and that leave a program and nothing else.
PLAIN_FLAGS = ("--target-cpu=", "--from=", "--entry=", "--emit=", "--parallel=")
NAMES_A_FILE = "experts="  # of --parallel


def compiler():
    """Path of moe-compile: $MOE_COMPILE, else of the build folder ($MOE_BUILD_DIR, default `build`)."""
    build = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))
    path = Path(os.environ.get("MOE_COMPILE", build / "bin" / "moe-compile"))
    if not path.is_file():
        raise Error(f"there is no '{path}': build the compiler first, or name it with MOE_COMPILE")
    return path


def moe_compile(source, output, *flags):
    """Run moe-compile; raises `Error` with what it printed if it fails.

    Equal programs are compiled once. Where the result has names of files in it, or flags name files, nothing is shared.
    """
    source, output, tool = Path(source), Path(output), compiler()
    names_files = source.suffix == ".mlir" and b"moe.weights" in source.read_bytes()
    if names_files or not all(flag.startswith(PLAIN_FLAGS) and NAMES_A_FILE not in flag for flag in flags):
        _run(tool, source, output, flags)
        return output
    runtime = tool.parent.parent / "lib" / "moe-mlir"
    parts = ["moe-compile", shared.program(tool), runtime, source, source.suffix, output.name, flags]
    shared.results().copy(parts, lambda folder: _run(tool, source, folder / output.name, flags), output.parent)
    return output


def _run(tool, source, output, flags):
    command = [str(tool), str(source), "-o", str(output), "-q", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise Error(f"'{' '.join(command)}' ended with code {done.returncode}:\n{done.stderr.strip()}")


def export_model(model, path, **options):
    """`export` for tests that need an exported model: equal ones (configuration, weights, options) are made once."""
    from .exported import parts_of_export  # imports torch

    path = Path(path)

    def make(folder):
        from ..exporting import export

        export(model, folder / path.name, **options)

    shared.results().copy([*parts_of_export(model, options), path.name], make, path.parent)
    return path


def edit_program(model, path, edit):
    """A copy of the .pt2 `model` at `path`, whose graph's JSON `edit` has changed in place; returns `path`."""
    with zipfile.ZipFile(model) as archive, zipfile.ZipFile(path, "w") as copy:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith("models/model.json"):
                program = json.loads(data)
                edit(program)
                data = json.dumps(program)
            copy.writestr(name, data)
    return path


def warnings_of(source):
    """What moe-compile warns of when it reads `source`, without its name and the folders of files."""
    done = subprocess.run([str(compiler()), str(source), "--to=graph", "-o", os.devnull], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise Error(f"'{source}' is refused:\n{done.stderr.strip()}")
    lines = [line.partition("moe-compile: warning: ")[2] for line in done.stderr.splitlines()]
    return [re.sub(r"[^ ]*/", "", line) for line in lines if line]


def compile_model(model, folder, *flags, threads=None, **options):
    """Export `model` (or a checkpoint directory) into `folder` and compile it. `options` are those of `export`."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    export_model(model, folder / "model.pt2", **options)
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
