"""Whole programs for the step `programs`: executables with inputs, and what they have to give, by their code for a CPU.

Beside layers they are the ops that models have around them, MoE layers of exported models, and programs of several ranks, which share the GPU.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

from .compiling import ROOT
from .manifest import BundleError
from .packing import pack

TESTS = ROOT / "test" / "python" / "cuda"  # has the programs
TOKENS = (10, 3, 0, 21, 150)  # of the calls of a session: memory stays, is more than enough, grows
OVERLAP = "schedule(<overlap, chunk = 4, steps = [1, 1], slices = 1, send = 1, return = 1>)"
PLAIN = "schedule(<plain>)"
# Of the largest value, by the type of the elements: functions such as exp and the order of sums differ between a GPU and a CPU.
BOUNDS = {"f32": 1e-5, "bf16": 2.0**-6, "f16": 2.0**-9}
DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def compile_program(build, source, output, *flags):
    done = subprocess.run([build / "bin" / "moe-compile", source, "-q", "-o", output, *flags], capture_output=True, text=True)
    if done.returncode:
        raise BundleError(f"moe-compile: {done.stderr.strip()}")
    return output


class Cases:
    """A folder for each case, with its program, inputs and what they give; `written` is what the step reads of them, in the order of their value."""

    def __init__(self, folder, build):
        self.folder, self.build, self.written = folder, build, []

    def place(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True)
        return folder

    def write(self, folder, calls, bound, entry=(), ranks=(), program=None, typical=None, cpu=True):
        """`calls`: inputs of each. What they give is by the case's own code for a CPU, or by `program`. `entry`, `ranks`: flags; the latter of a run on a GPU alone.
        `cpu`: whether the case's program has code for a CPU."""
        for number, inputs in enumerate(calls):
            for name, array in inputs.items():
                np.save(folder / f"{number}.{name}.npy", array)
            words = [word for name in inputs for word in ("--input", f"{name}=@{folder / f'{number}.{name}.npy'}")]
            command = [program or folder / "program", *words, *entry, "--device", "cpu", "--threads", "1", "--output-dir", folder / f"expected{number}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise BundleError(f"{folder.name}, on the CPU: {done.stderr.strip()}")
        self.again(folder, folder.name, {"calls": [list(inputs) for inputs in calls], "bound": bound, "typical": typical, "cpu": cpu, "entry": list(entry)}, ranks)

    def again(self, folder, name, case, ranks):
        """The case of a folder under another name, with other ranks."""
        self.written.append({**case, "folder": folder.name, "name": name, "flags": [*case["entry"], *ranks]})

    def graph(self, name, text, inputs, element, weights=None):
        """A graph of one call, or of several."""
        folder = self.place(name)
        source = folder / "program.mlir"
        source.write_text('module attributes {moe.level = "graph"} {\n' + text + "\n}\n")
        flags = ["--from=graph", "--target=cuda:h200"]
        if weights:
            save_file(weights, folder / "w.safetensors")
            flags.append(f"--weights={folder / 'w.safetensors'}")
        compile_program(self.build, source, folder / "program", *flags)
        (folder / "w.safetensors").unlink(missing_ok=True)
        self.write(folder, inputs if isinstance(inputs, list) else [inputs], BOUNDS[element])


def stored(array):
    """As files have it: numbers of bf16 as f32."""
    return array.astype(np.float32) if array.dtype == DTYPES["bf16"] else array


def write_layers(cases):
    """One layer in each type, called several times in a session."""
    from cuda_program import layer_text, layer_weights

    random = np.random.default_rng(3)
    for element, dtype in DTYPES.items():
        text = layer_text(element).split("{\n", 1)[1].rsplit("}", 1)[0]  # without the module, which graph() writes
        calls = [{"x": random.integers(-1, 2, (tokens, 96)).astype(np.float16 if element == "f16" else np.float32)} for tokens in TOKENS]
        cases.graph(f"layer-{element}", text, calls, element, layer_weights(dtype))
        if element == "f32":
            limited = text.replace(" renormalize(sum)", " renormalize(sum) capacity(<0.8, deepspeed>)")
            if limited == text:
                raise BundleError("the layer's gate is not the one that should get a capacity")
            cases.graph("layer-capacity", limited, calls, element, layer_weights(dtype))


def write_scans(cases):
    """Recurrences of each kind, and a convolution."""
    from recurrent_programs import KINDS, conv_program, scan_program

    random = np.random.default_rng(5)
    for decay, delta in KINDS:
        cases.graph(f"scan-{decay}{'-delta' if delta else ''}", *scan_program(decay, delta, random), "f32")
    cases.graph("causal-conv", *conv_program(random), "bf16")


def write_batches(cases):
    """Products with a matrix for each head: rows of whole chunks, and rows whose elements are loaded one by one."""
    random, heads = np.random.default_rng(6), 3
    for element, n, k in (("bf16", 200, 128), ("f32", 90, 36), ("f16", 24, 33)):
        of_x, of_w, of_y = f"tensor<?x{heads}x{k}x{element}>", f"tensor<{heads}x{n}x{k}x{element}>", f"tensor<?x{heads}x{n}x{element}>"
        calls = [{"x": random.integers(-2, 3, (tokens, heads, k)).astype(np.float16 if element == "f16" else np.float32)} for tokens in TOKENS]
        cases.graph(f"batch-linear-{element}", f"""
        func.func @main(%x: {of_x} {{moe.name = "x"}}) -> ({of_y} {{moe.name = "y"}}) {{
          %w = moe.parameter ["w"] : {of_w}
          %y = nn.batch_linear %x, %w : {of_x}, {of_w} -> {of_y}
          return %y : {of_y}
        }}""", calls, element, {"w": random.integers(-2, 3, (heads, n, k)).astype(DTYPES[element])})  # fmt: skip


def write_models(cases, families=("mixtral", "qwen3_moe", "olmoe")):
    """MoE layers of tiny exported models. Nearly a tie between experts may be decided otherwise, so most tokens have to agree."""
    import torch

    from moe_mlir.testing.compiling import export_model
    from moe_mlir.testing.models import tiny_model

    for family in families:
        folder = cases.place(f"model-{family}")
        model = tiny_model(family, dtype=torch.bfloat16)
        export_model(model, folder / "model.pt2", max_cache_len=128)
        compile_program(cases.build, folder / "model.pt2", folder / "program", "--target=cuda:h200", "--entry=layers")
        (folder / "model.pt2").unlink()
        info = subprocess.run([folder / "program", "--info"], capture_output=True, text=True, check=True).stdout
        entry = re.search(r"layer\d+_moe", info)[0]
        random = np.random.default_rng(7)
        x = [{"x": random.normal(size=(tokens, model.config.hidden_size)).astype(DTYPES["bf16"]).astype(np.float32)} for tokens in (1, 23, 90)]
        cases.write(folder, x, 0.02, ["--entry", entry], typical=0.005)


def write_whole_model(cases):
    """All of a tiny exported model, without a cache: attention, norms, embedding and experts."""
    import torch

    from moe_mlir.testing.compiling import export_model
    from moe_mlir.testing.models import tiny_model

    folder = cases.place("model-whole")
    model = tiny_model("qwen3_moe", dtype=torch.float32, num_hidden_layers=2, vocab_size=65)  # random weights hardly compress
    export_model(model, folder / "model.pt2", cache=False)
    compile_program(cases.build, folder / "model.pt2", folder / "program", "--target=cuda:h200")
    (folder / "model.pt2").unlink()
    random = np.random.default_rng(8)
    cases.write(folder, [{"input_ids": random.integers(0, model.config.vocab_size, size)} for size in ((1, 1), (2, 70), (1, 130))], 1e-4)


def write_ranks(cases):
    """Layers of several ranks, whose numbers are whole ones: the bits of one rank on a CPU."""
    from dataclasses import replace

    from rank_layers import RankedLayer, with_schedule

    layer = RankedLayer(10, 40, 32, 8, 2, "bf16", layers=2)
    one = cases.place("ranks-1")
    graph, weights = one / "program.mlir", [f"--weights={one / 'w.safetensors'}"]
    save_file(layer.weights(), one / "w.safetensors")
    graph.write_text(layer.graph())
    calls = [{name: stored(array) for name, array in replace(layer, tokens=tokens).inputs().items()} for tokens in TOKENS]
    compile_program(cases.build, graph, one / "program", "--from=graph", "--parallel=ep=1", "--target=cuda:h200", *weights)
    cases.write(one, calls, 0)
    kinds = {
        "split": ("ep=2", PLAIN, 0), "replicated": ("ep=2,tokens=replicated", PLAIN, 0), "overlap": ("ep=2", OVERLAP, 0),
        "nodes": ("ep=4,nodes=2,tokens=split", PLAIN, 0), "passes": ("ep=2", PLAIN, 6),
    }  # fmt: skip
    for name, (parallel, schedule, passes) in kinds.items():
        folder = cases.place(f"ranks-{name}")
        found, program = folder / "found.mlir", folder / "program.mlir"
        compile_program(cases.build, graph, found, "--from=graph", f"--parallel={parallel}", "--target=cuda:h200", "--to=scheduled", "--weights=none")
        program.write_text(with_schedule(found.read_text(), layer.layers, schedule, passes))
        found.unlink()
        compile_program(cases.build, program, folder / "program", *weights)
        ranks = ["--ranks", parallel[3], "--comm"]
        cases.write(folder, calls, 0, ranks=[*ranks, "local"], program=one / "program", cpu=False)  # threads
        cases.again(folder, f"{folder.name}-processes", cases.written[-1], [*ranks, "shm"])  # that map each other's memory
    (one / "w.safetensors").unlink()


def write_programs(folder, build):
    sys.path[:0] = [str(TESTS), str(ROOT / "python")]
    cases = Cases(Path(folder), build)
    with tempfile.TemporaryDirectory() as exports:
        os.environ.setdefault("MOE_TEST_RESULTS", exports)
        for write in (write_layers, write_models, write_whole_model, write_ranks, write_batches, write_scans):
            write(cases)
    (cases.folder / "cases.json").write_text(json.dumps(cases.written, indent=1) + "\n")
    for file in sorted(cases.folder.glob("*/program*")):
        if file.suffix != ".mlir":
            pack(file)
        else:
            file.unlink()
