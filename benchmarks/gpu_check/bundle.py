"""Writes a bundle: everything that a check on a GPU needs, made without one."""

import shutil
from pathlib import Path

from .cases import MODELS, NUMERICS, name_of
from .compiling import ROOT, add_cubins, compile_layer, nvrtc
from .emulation import EmulatedDevice
from .kernels import Kernel
from .manifest import write_manifest
from .numerics import record, save_records
from .program import Program

EMULATION = ROOT / "runtime" / "test" / "emulation"
# Of the source tree: the package without what only makes bundles, and what it takes from the emulation's tests.
COMPILING = ("bundle.py", "compiling.py", "__pycache__")
BESIDE = ("emulated.py", "exchange.py")


def copy_sources(folder):
    """In the folders of the source tree."""
    shutil.copytree(Path(__file__).parent, folder / "benchmarks" / "gpu_check", ignore=shutil.ignore_patterns(*COMPILING))
    shutil.copytree(ROOT / "runtime" / "device", folder / "runtime" / "device")
    shutil.copytree(ROOT / "runtime" / "emulation", folder / "runtime" / "emulation", ignore=shutil.ignore_patterns("*.cpp", "*.txt"))
    (folder / "runtime" / "test" / "emulation").mkdir(parents=True)
    for name in BESIDE:
        shutil.copy(EMULATION / name, folder / "runtime" / "test" / "emulation")
    (folder / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "gpu-check", folder / "scripts")


def ranks_kernel():
    return Kernel("exchangeRows", (EMULATION / "kernels" / "ranks.cu").read_text(), 128, 16, 1)


def write_bundle(folder, build, host_compiler, say=print):
    """Replaces `folder`."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "records").mkdir(parents=True)
    copy_sources(folder)
    compiler, cache = nvrtc(), {}
    for name, (tokens, layer) in {**{name_of(*case): case for case in NUMERICS}, **{name: (8, x) for name, x in MODELS.items()}}.items():
        say(f"{name}: kernels and cubins")
        program = compile_layer(build, layer, name)
        add_cubins(program, compiler, cache)
        program.save(folder / "programs")
    say("ranks: cubin")
    ranks = Program("ranks", None, "", {"exchangeRows": ranks_kernel()}, {})
    add_cubins(ranks, compiler)
    (folder / "ranks").mkdir()
    (folder / "ranks" / "ranks.cubin").write_bytes(ranks.cubins["exchangeRows"])
    (folder / "ranks" / "ranks.cu").write_text(ranks.kernels["exchangeRows"].text)
    device = EmulatedDevice(build / "runtime" / "emulation" / "libmoe_emulation.so", host_compiler, build / "gpu-bundle-emulated", timing="lazy")
    for tokens, layer in NUMERICS:
        name = name_of(tokens, layer)
        say(f"{name}: records of the emulated GPU")
        program = Program.load(folder / "programs" / name)
        device.functions.clear()
        device.load(program)
        save_records(folder / "records" / f"{name}.npz", record(program, tokens, device))
    write_manifest(folder, ROOT)
    return folder
