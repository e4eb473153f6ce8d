"""A bundle of only what the steps `ablations`, `stamps` and `micro` need for a small layer, and these steps on the emulated GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

from emitted import BUILD, ROOT, host_compiler

sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_check.compiling import add_cubins, compile_layer  # noqa: E402
from gpu_check.instrument import write_stamped  # noqa: E402
from gpu_check.manifest import digest_of  # noqa: E402
from gpu_check.microkernels import write_micro  # noqa: E402
from gpu_check.sizes import DRY  # noqa: E402
from gpu_check.variants import write_variants  # noqa: E402

# The dry run's device with tokens of which some experts get few rows and some many.
SEAM = """
from dataclasses import replace
from gpu_check.device.dry import *
SIZES = replace(SIZES, points=(70,), replays=2)
"""


class NoCompiler:
    """In place of NVRTC: the emulated GPU takes a cubin for the text beside it."""

    def compile(self, text, name):
        return b"\x7fELF" + digest_of(text.encode()).encode(), ""


def write_bundle(folder):
    cache, compiler = {}, NoCompiler()
    for model in DRY.measured:
        program = compile_layer(BUILD, DRY.models[model], model)
        add_cubins(program, compiler, cache)
        program.save(folder / "programs")
    write_variants(folder, BUILD, compiler, cache, lambda text: None, [DRY])
    write_stamped(folder, BUILD, compiler, cache, lambda text: None, [DRY])
    write_micro(folder, BUILD, compiler, lambda text: None)
    (folder / "seam").mkdir()
    (folder / "seam" / "more_rows.py").write_text(SEAM)
    return folder


def run_step(bundle, name, out):
    """(exit code, the lines that the step wrote)"""
    settings = {"library": str(BUILD / "runtime" / "emulation" / "libmoe_emulation.so"), "compiler": host_compiler(), "folder": str(out / "emulated")}
    command = [sys.executable, "-m", f"gpu_check.steps.{name}", "--bundle", bundle, "--out", out / f"{name}.jsonl", "--seconds", "120"]
    path = os.pathsep.join([str(ROOT / "benchmarks"), str(bundle / "seam")])
    done = subprocess.run(
        [*map(str, command), "--seam", f"more_rows:{json.dumps(settings)}"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, [json.loads(line) for line in (Path(out) / f"{name}.jsonl").read_text().splitlines()]
