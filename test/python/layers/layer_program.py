"""Compiles graphs of the tensor levels with moe-compile and runs the executables on NumPy arrays."""

import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

from moe_mlir import Executable
from moe_mlir.errors import Error
from moe_mlir.testing.compiling import compiler, moe_compile

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {"f32": np.dtype(np.float32), "bf16": BF16, "f16": np.dtype(np.float16), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64)}

_folder = tempfile.TemporaryDirectory(prefix="moe-layers-")
_compiled = {}


def tensor_type(dtype, shape):
    """`tensor<?x8xf32>` for ("f32", ("t", 8)): a size with a name is dynamic."""
    return "tensor<" + "".join(f"{size}x" if isinstance(size, int) else "?x" for size in shape) + dtype + ">"


class Graph:
    """Text of one function `main`. Sizes are numbers or names; equal names are one size of the inputs."""

    def __init__(self):
        self.inputs, self.outputs, self.lines = {}, {}, []
        self.values = 0

    def input(self, name, dtype, *shape):
        """The input of that name; asked for twice, it is the same one."""
        known = self.inputs.setdefault(name, (dtype, shape))
        assert known == (dtype, shape), f"input {name} is {known}, not {(dtype, shape)}"
        return f"%{name}"

    def value(self):
        """A name for a new value."""
        self.values += 1
        return f"%v{self.values}"

    def add(self, *lines):
        self.lines += lines

    def output(self, name, value, dtype, *shape):
        assert name not in self.outputs
        self.outputs[name] = (value, dtype, shape)

    def text(self):
        def dims(shape):
            return ", ".join('""' if isinstance(size, int) else f'"{size}"' for size in shape)

        arguments = ",\n    ".join(
            f'%{name}: {tensor_type(dtype, shape)} {{moe.name = "{name}", moe.dims = [{dims(shape)}]}}'
            for name, (dtype, shape) in self.inputs.items())
        types = [tensor_type(dtype, shape) for _, dtype, shape in self.outputs.values()]
        results = ",\n    ".join(f'{tensor_type(dtype, shape)} {{moe.name = "{name}", moe.dims = [{dims(shape)}]}}'
                                 for name, (_, dtype, shape) in self.outputs.items())
        values = ", ".join(value for value, _, _ in self.outputs.values())
        body = "\n".join(f"  {line}" for line in self.lines)
        return (f'module attributes {{moe.name = "layers"}} {{\nfunc.func @main(\n    {arguments})\n'
                f"    -> ({results}) {{\n{body}\n  return {values} : {', '.join(types)}\n}}\n}}\n")

    def compile(self, cpu="native", passes=()):
        """The executable; equal text is compiled once per session. `passes` of moe-opt run on the text before."""
        key = self.text(), cpu, tuple(passes)
        if key not in _compiled:
            try:
                _compiled[key] = CompiledGraph(self, cpu, passes)
            except Error as error:
                _compiled[key] = error
        if isinstance(_compiled[key], Error):
            raise _compiled[key]
        return _compiled[key]


class CompiledGraph:
    """An executable of a graph. `run` takes all inputs by name and gives all outputs by name, in their own types."""

    def __init__(self, graph, cpu, passes):
        folder = Path(tempfile.mkdtemp(dir=_folder.name))
        source = folder / "layers.mlir"
        source.write_text(graph.text())
        if passes:
            lowered = folder / "lowered.mlir"
            subprocess.run([compiler().parent / "moe-opt", source, *passes, "-o", lowered], check=True)
            source = lowered
        self.dtypes = {name: DTYPES[dtype] for name, (_, dtype, _) in graph.outputs.items()}
        self.path = moe_compile(source, folder / "layers", "--from=graph", f"--target-cpu={cpu}")

    def run(self, inputs, threads=2):
        with Executable(self.path, threads=threads) as executable:
            outputs = executable.run(inputs)
        return {name: outputs[name].astype(dtype) for name, dtype in self.dtypes.items()}
