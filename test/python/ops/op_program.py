"""Exports functions of PyTorch together as one module, compiles the .pt2, and runs it beside PyTorch."""

import json
import re
import subprocess
import zipfile

import ml_dtypes
import numpy as np
import torch
from torch._dynamo import config

from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile
from moe_mlir.testing.full import FULL


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
        # PyTorch's cache of op results takes time and finds little: hardly an op here is like an earlier one.
        with torch.no_grad(), config.patch(fake_tensor_cache_enabled=False):
            program = torch.export.export(self.module, (inputs,), dynamic_shapes={"inputs": shapes}, strict=False)
        self.source = folder / "ops.pt2"
        torch.export.save(program, self.source)
        # Names of the calls in the graph, without overloads: "add_", "__and__".
        self.targets = {node.target.overloadpacket.__name__ for node in program.graph.nodes
                        if isinstance(node.target, torch._ops.OpOverload)}
        signature = program.graph_signature
        self.input_names = dict(zip(inputs, signature.user_inputs, strict=True))
        with torch.no_grad():
            self.output_names = dict(zip(self.module(inputs), signature.user_outputs, strict=True))
        self.executable = Executable(moe_compile(self.source, folder / "ops"))

    def check(self, inputs, tolerance=1e-5, instead=()):
        """Compares every output: integers exactly, f32 within `tolerance`, bf16 within an ulp; all exactly if it is 0.

        Outputs named in `instead` are compared with what it has for them, the others with what PyTorch makes of `inputs`.
        """
        outputs = self.executable.run({self.input_names[name]: to_numpy(value) for name, value in inputs.items()})
        with torch.no_grad():
            expected = self.module(inputs) | dict(instead)
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
    if tolerance == 0:
        same = ((result == exact) & (np.signbit(result) == np.signbit(exact))) | (np.isnan(result) & np.isnan(exact))
        return None if same.all() else f"{result[~same][:4]}, expected {exact[~same][:4]}"
    with np.errstate(invalid="ignore"):
        close = np.abs(result - exact) <= (2.0**-7 if expected.dtype == torch.bfloat16 else tolerance) * np.maximum(
            np.abs(exact), 0.5)
    close |= (result == exact) | (np.isnan(result) & np.isnan(exact))
    return None if close.all() else f"{result[~close][:4]}, expected {exact[~close][:4]}"


# Numbers of dtypes in a .pt2, each with one that results of an operator do not have in its place, though it is of the same
# kind. Where the kind is all that counts, a float is no integer.
FALSE = {2: 5, 3: 5, 4: 5, 5: 4, 6: 7, 7: 8, 8: 7, 10: 11, 11: 10, 12: 5, 13: 7}
INT32, INT64, FLOAT32 = 4, 5, 7


def false_dtypes(source):
    """Imports the .pt2 with a false dtype for one result after the other, those of each operator once, in a full run once
    for each combination of argument types. Returns what was not refused with a message about the node."""
    with zipfile.ZipFile(source) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    model = next(name for name in entries if re.search(r"/models/\w+\.json$", name))
    program = json.loads(entries[model])
    graph = program["graph_module"]["graph"]
    types, seen, passed = graph["tensor_values"], set(), []

    def dtypes(argument):
        """Of the tensors in an argument; other arguments as they are."""
        if isinstance(argument, list):
            return [dtypes(element) for element in argument]
        if isinstance(argument, dict):
            return [types[argument["name"]]["dtype"]] if argument.get("name") in types else [dtypes(v) for v in argument.values()]
        return type(argument).__name__

    for node in graph["nodes"]:
        inputs = str([(entry["name"], dtypes(entry["arg"]), entry["arg"].get("as_scalar_type")) for entry in node["inputs"]])
        results = [output["as_tensor"] for output in node["outputs"] if "as_tensor" in output]
        results += [tensor for output in node["outputs"] for tensor in output.get("as_tensors", [])]
        for number, result in enumerate(results[:2]):
            kind = (node["target"], inputs if FULL else "", number)
            if kind in seen:
                continue
            seen.add(kind)
            value = types[result["name"]]
            true = value["dtype"]
            # The default dtype of floats is not in the file: it might be any of them.
            by_default = true == FLOAT32 and not re.search(r"\b(7|6|13)\b", inputs)
            value["dtype"] = INT32 if by_default else FALSE[true]
            edited = source.with_name("false.pt2")
            with zipfile.ZipFile(edited, "w") as archive:
                for name, data in entries.items():
                    archive.writestr(name, json.dumps(program) if name == model else data)
            done = subprocess.run(["moe-translate", "--import-pt2", edited], capture_output=True, text=True)
            said = f"graph: node '{node['name']}' ({node['target']})" in done.stderr and " has dtype " in done.stderr
            if done.returncode == 0 or not said:
                passed.append(f"{node['target']} of {inputs}: {result['name']} with dtype {value['dtype']} in place of {true}: {done.stderr}")
            value["dtype"] = true
    assert seen
    return passed
