"""Whole programs for the step `programs`: executables with inputs, and what they have to give, by their code for a CPU.

Beside layers they are the ops that models have around them, MoE layers of exported models, and programs of several ranks, which share the GPU.
"""

import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

from .compiling import ROOT
from .manifest import BundleError

TESTS = ROOT / "test" / "python" / "cuda"  # has layers of several ranks
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
    """Folders with a program, `case.json`, inputs and what they give."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, build

    def place(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True)
        return folder

    def write(self, folder, calls, bound, flags=(), by=(), program=None, typical=None, of=None):
        """`calls`: inputs of each. What they give is by `program`, or by the case's own for a CPU. `of`: the case whose program this one runs."""
        for number, inputs in enumerate(calls):
            for name, array in inputs.items():
                np.save(folder / f"{number}.{name}.npy", array)
        case = {"calls": [list(inputs) for inputs in calls], "flags": list(flags), "bound": bound, "typical": typical, "of": of or folder.name}
        (folder / "case.json").write_text(json.dumps(case))
        for number, inputs in enumerate(calls):
            words = [word for name in inputs for word in ("--input", f"{name}=@{folder / f'{number}.{name}.npy'}")]
            command = [program or folder / "program", *words, *by, "--device", "cpu", "--threads", "1", "--output-dir", folder / f"expected{number}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise BundleError(f"{folder.name}, on the CPU: {done.stderr.strip()}")

    def graph(self, name, text, inputs, element, weights=None):
        """A graph of one call, or of several."""
        folder = self.place(name)
        source = folder / "program.mlir"
        source.write_text('module attributes {moe.level = "graph"} {\n' + text + "\n}\n")
        flags = ["--from=graph", "--target=cuda:h200"]
        if weights:
            from safetensors.numpy import save_file

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


def write_scans(cases):
    """Recurrences of each kind, and a convolution."""
    random = np.random.default_rng(5)
    m, n, k, v = 2, 4, 6, 70
    for decay in ("heads", "channels", "elements"):
        for delta in (False, True):
            shapes = {"q": [m, k], "k": [m, k], "v": [n, v], "d": [n, *{"heads": [], "channels": [k], "elements": [v]}[decay]]}
            shapes |= {"b": [n]} if delta else {}
            types = {name: "tensor<" + "x".join(["?x?", *map(str, shape)]) + "xf32>" for name, shape in shapes.items()}
            types |= {"r": f"tensor<{n}x{k}x{v}xf32>"} if decay == "elements" else {}
            types["h"] = f"tensor<?x{n}x{k}x{v}xf32>"
            text = ", ".join(f'%{name}: {t} {{moe.name = "{name}"}}' for name, t in types.items())
            words = (("decay", "d"), ("rates", "r"), ("beta", "b"), ("state", "h"))
            clauses = " ".join(f"{word}(%{name} : {types[name]})" for word, name in words if name in types)
            inputs = {name: random.normal(size=(2, 5, *shape)).astype(np.float32) for name, shape in shapes.items()}
            inputs["d"], inputs["k"] = -np.abs(inputs["d"]), inputs["k"] / 3
            if decay == "elements":
                inputs["r"] = random.random((n, k, v), np.float32)
            inputs["h"] = random.normal(size=(2, n, k, v)).astype(np.float32)
            cases.graph(f"scan-{decay}{'-delta' if delta else ''}", f"""
            func.func @main({text}) -> ({types["v"]} {{moe.name = "y"}}, {types["h"]} {{moe.name = "n"}}) {{
              %y, %n = nn.scan %q, %k, %v {clauses} : {types["q"]}, {types["k"]}, {types["v"]} -> {types["v"]}
              return %y, %n : {types["v"]}, {types["h"]}
            }}""", inputs, "f32")  # fmt: skip
    x, w, b = ("tensor<?x6x?xbf16>", "tensor<6x4xbf16>", "tensor<6xbf16>")
    inputs = {name: random.normal(size=size).astype(np.float32) for name, size in {"x": (2, 6, 45), "w": (6, 4), "b": (6,)}.items()}
    cases.graph("causal-conv", f"""
    func.func @main(%x: {x} {{moe.name = "x"}}, %w: {w} {{moe.name = "w"}}, %b: {b} {{moe.name = "b"}}) -> ({x} {{moe.name = "y"}}) {{
      %y = nn.causal_conv %x, %w bias(%b : {b}) silu : {x}, {w} -> {x}
      return %y : {x}
    }}""", {name: array.astype(DTYPES["bf16"]).astype(np.float32) for name, array in inputs.items()}, "bf16")  # fmt: skip


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
        cases.write(folder, x, 0.02, ["--entry", entry], ["--entry", entry], typical=0.005)


def write_ranks(cases):
    """Layers of several ranks, whose numbers are whole ones: the bits of one rank on a CPU."""
    from dataclasses import replace

    from rank_layers import RankedLayer
    from safetensors.numpy import save_file

    layer = RankedLayer(10, 40, 32, 8, 2, "bf16", layers=2)
    one = cases.place("ranks-1")
    weights = [f"--weights={one / 'w.safetensors'}"]
    save_file(layer.weights(), one / "w.safetensors")
    (one / "program.mlir").write_text(layer.graph())
    calls = [{name: stored(array) for name, array in replace(layer, tokens=tokens).inputs().items()} for tokens in TOKENS]
    compile_program(cases.build, one / "program.mlir", one / "program", "--from=graph", "--parallel=ep=1", "--target=cuda:h200", *weights)
    cases.write(one, calls, 0)
    kinds = {
        "split": ("ep=2", PLAIN, 0), "replicated": ("ep=2,tokens=replicated", PLAIN, 0), "overlap": ("ep=2", OVERLAP, 0),
        "nodes": ("ep=4,nodes=2,tokens=split", PLAIN, 0), "passes": ("ep=2", PLAIN, 6),
    }  # fmt: skip
    for name, (parallel, schedule, passes) in kinds.items():
        folder = cases.place(f"ranks-{name}")
        compile_program(
            cases.build, one / "program.mlir", folder / "found.mlir", "--from=graph", f"--parallel={parallel}", "--target=cuda:h200", "--to=scheduled", "--weights=none",
        )  # fmt: skip
        text = re.sub(r"schedule\(<.*?>\)", schedule, (folder / "found.mlir").read_text())
        if passes:
            text = re.sub(r"(?<= via\(direct\))|(?<= grid_axes = \[0\])", f" {{kernel.pass_tokens = {passes} : i64}}", text)
        (folder / "program.mlir").write_text(text)
        (folder / "found.mlir").unlink()
        compile_program(cases.build, folder / "program.mlir", folder / "program", *weights)
        ranks = parallel[3]
        for comm in ("local", "shm"):  # threads, and processes that map each other's memory
            place = folder if comm == "local" else cases.place(f"ranks-{name}-processes")
            cases.write(place, calls, 0, ["--ranks", ranks, "--comm", comm], program=one / "program", of=folder.name)
    (one / "w.safetensors").unlink()


def write_programs(folder, build):
    sys.path[:0] = [str(TESTS), str(ROOT / "python")]
    cases = Cases(Path(folder), build)
    with tempfile.TemporaryDirectory() as exports:
        os.environ.setdefault("MOE_TEST_RESULTS", exports)
        for write in (write_ranks, write_layers, write_batches, write_scans, write_models):
            write(cases)
    for file in sorted(cases.folder.glob("*/program*")):
        if file.suffix != ".mlir":
            file.with_name(file.name + ".xz").write_bytes(lzma.compress(file.read_bytes(), preset=3))
        file.unlink()
