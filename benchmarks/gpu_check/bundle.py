"""Writes a bundle: everything that a check on a GPU needs, made without one."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np

from .arrays import to_numbers
from .cases import MODELS, NUMERICS, name_of, small_integers
from .compiling import ROOT, add_cubins, compile_layer, cost_of, nvrtc
from .emulation import EmulatedDevice
from .instrument import write_stamped
from .kernels import Kernel
from .manifest import BundleError, write_manifest
from .microkernels import write_micro
from .numerics import record, save_records
from .packing import pack
from .program import Program
from .sizes import DRY, REAL, SMALL
from .steps.numerics import layer_case
from .steps.programs import PROGRAMS
from .variants import write_variants
from .writeprograms import write_programs

EMULATION = ROOT / "runtime" / "test" / "emulation"
# Of the source tree: the package without what only makes bundles, and what it takes from the emulation's tests.
COMPILING = ("bundle.py", "codereport.py", "compiling.py", "constants.py", "instrument.py", "report.py", "tables.py", "variants.py", "writeprograms.py", "__pycache__")
BESIDE = ("emulated.py", "exchange.py")
SESSIONS = ("__init__.py", "errors.py", "session.py")  # of moe_bench: the C interface


def copy_sources(folder):
    """In the folders of the source tree."""
    shutil.copytree(Path(__file__).parent, folder / "benchmarks" / "gpu_check", ignore=shutil.ignore_patterns(*COMPILING))
    (folder / "benchmarks" / "moe_bench").mkdir()
    for name in SESSIONS:
        shutil.copy(ROOT / "benchmarks" / "moe_bench" / name, folder / "benchmarks" / "moe_bench")
    shutil.copytree(ROOT / "runtime" / "device", folder / "runtime" / "device")
    shutil.copytree(ROOT / "runtime" / "emulation", folder / "runtime" / "emulation", ignore=shutil.ignore_patterns("*.cpp", "*.txt"))
    (folder / "runtime" / "test" / "emulation").mkdir(parents=True)
    for name in BESIDE:
        shutil.copy(EMULATION / name, folder / "runtime" / "test" / "emulation")
    (folder / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "gpu-check", folder / "scripts")


def make_program(build, folder, layer, name, output, *flags):
    """The compiler's own executable, or shared object, of a layer, in a folder of its own."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    source = folder / name / f"{name}.mlir"
    source.write_text('module attributes {moe.level = "graph", moe.name = "' + name + '"} {' + layer.graph() + "}\n")
    command = [str(build / "bin" / "moe-compile"), str(source), "--from=graph", "--target=cuda:sm_90a", "-q", "-o", str(folder / name / output), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BundleError(f"moe-compile: {done.stderr.strip()}")


def write_executables(folder, build, chosen=(REAL, DRY)):
    """A small layer with its weights, tokens and result, and layers of the models of `chosen` that make their weights on the spot. Beside them, in
    `sessions`, the same as shared objects."""
    tokens, layer = NUMERICS[0]
    sessions = folder.parent / "sessions"
    x, weights, expected, terms = layer_case(tokens, layer, small_integers)
    (folder / "layer").mkdir(parents=True)
    file = folder / "layer" / "weights.safetensors"
    write_safetensors(file, weights)
    make_program(build, folder, layer, "layer", "layer", f"--weights={file}")
    make_program(build, sessions, layer, "layer", "layer.so", f"--weights={file}", "--emit=lib")
    file.unlink()
    np.save(folder / "layer" / "x.npy", to_numbers(x, "bf16"))
    np.save(folder / "layer" / "expected.npy", expected)
    np.save(folder / "layer" / "terms.npy", terms)
    for sizes in chosen:
        for model in sizes.executables:
            make_program(build, folder, sizes.models[model], model, model, "--weights=none")
            make_program(build, sessions, sizes.models[model], model, f"{model}.so", "--weights=none", "--emit=lib")
    for program in [*folder.glob("*"), *sessions.glob("*")]:
        pack(program / (program.name if program.parent == folder else f"{program.name}.so"))
    for archive in sessions.glob("layer/layer.so*.weights"):  # those of the executable
        if archive.read_bytes() != (folder / "layer" / archive.name.replace(".so", "")).read_bytes():
            raise BundleError(f"{archive.name}: the layer's shared object and its executable have different weights")
        archive.unlink()


def write_safetensors(path, weights):
    """bf16 tensors by name."""
    header, start = {}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in weights.values()))


def ranks_kernel():
    return Kernel("exchangeRows", (EMULATION / "kernels" / "ranks.cu").read_text(), 128, 16, 1)


def write_bundle(folder, build, host_compiler, say=print, compiler=None):
    """Replaces `folder`. `compiler` makes cubins, NVRTC if there is none; without NVRTC's there are no whole programs, of executables, variants and
    stamps only those of small layers, and of records only the first ones."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "records").mkdir(parents=True)
    copy_sources(folder)
    is_whole = compiler is None  # executables have machine code in any case
    chosen = (REAL, DRY) if is_whole else (DRY,)
    compiler, cache = compiler or nvrtc(), {}
    for name, layer in {**{name_of(*case): case[1] for case in NUMERICS}, **SMALL, **MODELS}.items():
        say(f"{name}: kernels and cubins")
        program = compile_layer(build, layer, name)
        if name in MODELS or name in SMALL:
            program.cost = cost_of(build, layer)
        add_cubins(program, compiler, cache)
        program.save(folder / "programs")
    write_variants(folder, build, compiler, cache, say, chosen)
    write_stamped(folder, build, compiler, cache, say, chosen)
    write_micro(folder, build, compiler, say)
    say("ranks: cubin")
    ranks = Program("ranks", None, "", {"exchangeRows": ranks_kernel()}, {})
    add_cubins(ranks, compiler)
    (folder / "ranks").mkdir()
    (folder / "ranks" / "ranks.cubin").write_bytes(ranks.cubins["exchangeRows"])
    (folder / "ranks" / "ranks.cu").write_text(ranks.kernels["exchangeRows"].text)
    device = EmulatedDevice(build / "runtime" / "emulation" / "libmoe_emulation.so", host_compiler, build / "gpu-bundle-emulated", timing="lazy")
    for tokens, layer in NUMERICS[: None if is_whole else 2]:
        name = name_of(tokens, layer)
        say(f"{name}: records of the emulated GPU")
        program = Program.load(folder / "programs" / name)
        device.load(program)
        save_records(folder / "records" / f"{name}.npz", record(program, tokens, device))
    say("executables")
    write_executables(folder / "executables", build, chosen)
    if is_whole:
        say("programs")
        write_programs(folder / PROGRAMS, build)
        (folder / "nccl").mkdir()
        pack(Path(shutil.copy(build / "runtime" / "test" / "cuda" / "nccl_one_rank", folder / "nccl")))
    write_manifest(folder, ROOT)
    return folder
