"""Exports functions of PyTorch together as one module, compiles the .pt2, and runs it beside PyTorch."""

import ml_dtypes
import numpy as np
import torch

from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile


class Together(torch.nn.Module):
    """`functions`: name -> function of some of the inputs, by their names, giving a tensor or several."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, inputs):
        results = {}
        for name, function in self.functions.items():
            names = function.__code__.co_varnames[: function.__code__.co_argcount]
            values = function(*(inputs[key] for key in names))
            for i, value in enumerate(values if isinstance(values, (tuple, list)) else [values]):
                results[f"{name}.{i}"] = value
        return results


class Operators:
    """A compiled module of functions. Sizes of `inputs` that are at least 2 in `dynamic` (name -> dimensions) may change."""

    def __init__(self, functions, inputs, dynamic, folder):
        self.module = Together(functions)
        shapes = {name: {dim: torch.export.Dim.DYNAMIC for dim in dynamic.get(name, ())} for name in inputs}
        with torch.no_grad():
            program = torch.export.export(self.module, (inputs,), dynamic_shapes={"inputs": shapes}, strict=False)
        torch.export.save(program, folder / "ops.pt2")
        # Names of the calls in the graph, without overloads: "add_", "__and__".
        self.targets = {node.target.overloadpacket.__name__ for node in program.graph.nodes
                        if isinstance(node.target, torch._ops.OpOverload)}
        signature = program.graph_signature
        self.input_names = dict(zip(inputs, signature.user_inputs, strict=True))
        with torch.no_grad():
            self.output_names = dict(zip(self.module(inputs), signature.user_outputs, strict=True))
        self.executable = Executable(moe_compile(folder / "ops.pt2", folder / "ops"))

    def check(self, inputs, tolerance=1e-5):
        """Compares every output: integers exactly, f32 within `tolerance`, bf16 within an ulp."""
        outputs = self.executable.run({self.input_names[name]: to_numpy(value) for name, value in inputs.items()})
        with torch.no_grad():
            expected = self.module(inputs)
        wrong = []
        for name, value in expected.items():
            result = outputs[self.output_names[name]]
            if difference := compare(result, value, tolerance):
                wrong.append(f"{name}: {difference}")
        assert not wrong, "\n".join(wrong)


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.numpy()


def compare(result, expected, tolerance):
    """What is different, or nothing."""
    if result.shape != tuple(expected.shape):
        return f"shape {result.shape}, expected {tuple(expected.shape)}"
    if not expected.is_floating_point():
        same = result == expected.numpy()
        return None if same.all() else f"{result[~same][:4]}, expected {expected.numpy()[~same][:4]}"
    exact = expected.double().numpy()
    result = result.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(result - exact) <= (2.0**-7 if expected.dtype == torch.bfloat16 else tolerance) * np.maximum(
            np.abs(exact), 0.5)
    close |= (result == exact) | (np.isnan(result) & np.isnan(exact))
    return None if close.all() else f"{result[~close][:4]}, expected {exact[~close][:4]}"
