"""Layers over several ranks whose results are whole numbers: their bits depend neither on exponentials nor on the order of a sum."""

import re
import subprocess
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from emitted import BUILD

TYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True)
class RankedLayer:
    """`layers` layers one after the other, of E experts, k for each of `tokens` tokens; the routing is an input."""

    tokens: int
    H: int
    I: int  # noqa: E741
    E: int
    k: int
    element: str
    layers: int = 1

    def graph(self):
        e, i, h, k, t = self.E, self.I, self.H, self.k, self.element
        body = "".join(f"""
  %up{n} = moe.parameter ["up{n}"] : tensor<{e}x{2 * i}x{h}x{t}>
  %down{n} = moe.parameter ["down{n}"] : tensor<{e}x{h}x{i}x{t}>
  %rows{n}, %layout{n} = moe.dispatch %x{n}, %ids num_experts({e}) : tensor<?x{h}x{t}>, tensor<?x{k}xi32> -> tensor<?x{h}x{t}>, !moe.layout<{e}>
  %r{n} = moe.expert %rows{n}, %layout{n}, %up{n}, %down{n} gated {{
  ^bb0(%g: f32, %u: f32):
    %lower = arith.constant -1.0 : f32
    %upper = arith.constant 2.0 : f32
    %below = arith.minimumf %g, %upper : f32
    %gate = arith.maximumf %below, %lower : f32
    %v = arith.mulf %gate, %u : f32
    moe.yield %v : f32
  }} : tensor<?x{h}x{t}>, !moe.layout<{e}>, tensor<{e}x{2 * i}x{h}x{t}>, tensor<{e}x{h}x{i}x{t}> -> tensor<?x{h}x{t}>
  %x{n + 1} = moe.combine %r{n}, %layout{n} weights(%w : tensor<?x{k}xf32>) : tensor<?x{h}x{t}>, !moe.layout<{e}> -> tensor<?x{h}x{t}>""" for n in range(self.layers))
        return f"""
func.func @main(%x0: tensor<?x{h}x{t}> {{moe.dims = ["tokens", ""], moe.name = "x"}}, %ids: tensor<?x{k}xi32> {{moe.dims = ["tokens", ""], moe.name = "ids"}},
                %w: tensor<?x{k}xf32> {{moe.dims = ["tokens", ""], moe.name = "weights"}}) -> (tensor<?x{h}x{t}> {{moe.dims = ["tokens", ""], moe.name = "y"}}) {{{body}
  return %x{self.layers} : tensor<?x{h}x{t}>
}}
"""

    def weights(self):
        """Mostly zeros, so that sums stay small."""
        random = np.random.default_rng(self.H + self.E)
        shapes = {"up": (self.E, 2 * self.I, self.H), "down": (self.E, self.H, self.I)}
        names = [(f"{name}{n}", shape) for n in range(self.layers) for name, shape in shapes.items()]
        return {name: (random.integers(-1, 2, shape) * (random.random(shape) < 0.3)).astype(TYPES[self.element]) for name, shape in names}

    def inputs(self):
        """Pairs without an expert too; weights are halves and quarters."""
        random = np.random.default_rng(self.tokens)
        ids = np.array([random.permutation(self.E)[: self.k] for _ in range(self.tokens)], np.int32).reshape(self.tokens, self.k)
        ids[random.random(ids.shape) < 0.15] = -1
        x = random.integers(-2, 3, (self.tokens, self.H)).astype(TYPES[self.element])
        return {"x": x, "ids": ids, "weights": random.choice([0.25, 0.5, 1], ids.shape).astype(np.float32)}


def with_schedule(text, layers, schedule, passes=None):
    """Level scheduled with the schedule in all layers, and exchanges in passes of so many tokens."""
    text, count = re.subn(r"schedule\(<.*?>\)", schedule, text)
    assert count == layers
    if passes:
        text, count = re.subn(r"(?<= via\(direct\))|(?<= grid_axes = \[0\])", f" {{kernel.pass_tokens = {passes} : i64}}", text)
        assert count == layers
    return text


def kernel_level(layer, ranks, tokens, folder, axis="ep", more=""):
    """The kernel level for a GPU, by the compiler's command. Exchanges and products follow each other, whatever the scheduler finds."""
    source, scheduled, output = folder / "layer.mlir", folder / f"{axis}{tokens}{ranks}.scheduled.mlir", folder / f"{axis}{tokens}{ranks}.mlir"
    source.write_text(layer.graph())

    def compile(source, output, *flags):
        done = subprocess.run([BUILD / "bin" / "moe-compile", source, "--weights=none", "-q", "-o", output, *flags], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    compile(source, scheduled, "--from=graph", f"--parallel={axis}={ranks},tokens={tokens}{more}", "--target=cuda:h200", "--to=scheduled")
    scheduled.write_text(re.sub(r"schedule\(<.*?>\)", "schedule(<plain>)", scheduled.read_text()))
    compile(scheduled, output, "--to=kernel")
    return output.read_text()


def bits(arrays):
    """As gpu_check has them: bf16 as uint16."""
    return {name: a.view(np.uint16) if a.dtype.itemsize == 2 else a for name, a in arrays.items()}


def on_cpu(layer, folder):
    """The output of the CPU's program, of one rank with the order of sums that several have."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(layer.weights(), folder / "weights.safetensors")
    (folder / "layer.mlir").write_text(layer.graph())
    flags = ["--from=graph", f"--weights={folder / 'weights.safetensors'}", "--parallel=ep=1", "-q"]
    command = [BUILD / "bin" / "moe-compile", folder / "layer.mlir", *flags, "-o", folder / "model"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    words = []
    for name, array in layer.inputs().items():
        np.save(folder / f"{name}.npy", array.astype(np.float32) if name == "x" else array)
        words += ["--input", f"{name}=@{folder / name}.npy"]
    done = subprocess.run([folder / "model", *words, "--output-dir", folder / "out", "--threads", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "out" / "y.npy")
