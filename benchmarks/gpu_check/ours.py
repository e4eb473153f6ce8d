"""The compiled layer on PyTorch's tensors: its launches go to the current stream, so that it can be captured like any peer."""

import ctypes
from functools import partial

import torch

from .arrays import pack

# PyTorch's types of the same width as MLIR's.
TYPES = {
    "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
    "i8": torch.int8, "i1": torch.uint8,
}  # fmt: skip


def random_weights(gpu, layer, skewed=False):
    """(weights by name, what is added to tokens): normal numbers; with `skewed` routing each expert has a bias that its tokens share, so that
    some get many times the mean."""
    torch.manual_seed(layer.H + layer.E)
    weights = {}
    for name, shape in layer.weight_shapes().items():
        weights[name] = torch.empty(shape, dtype=torch.bfloat16, device=gpu.torch_device).normal_().mul_(shape[-1] ** -0.5)
    direction = torch.nn.functional.normalize(torch.randn(layer.H, device=gpu.torch_device), dim=0)
    if skewed:
        bias = torch.randn(layer.E, 1, device=gpu.torch_device) * layer.H**-0.5
        weights["router"] += (bias * direction).to(torch.bfloat16)
    return weights, direction * layer.H**0.5 if skewed else 0


def packed_parameters(program, weights):
    """The weights as the program's kernels read them, by name; of those that are given."""
    plan = program.plan(1)
    return {b.name: pack(weights[b.name], b.recipe).contiguous() for b in plan.buffers if b.role == "parameter" and b.name in weights}


class CompiledLayer:
    """A program for a number of tokens: `layer(x)` launches all of it, `layer.launch(i, x)` one launch, on what the others left."""

    name = "moe-mlir"

    def __init__(self, gpu, program, packed, tokens):
        """`program` has been loaded by `gpu.load`."""
        self.gpu, self.program, self.plan = gpu, program, program.plan(tokens)
        self.buffers, self.given = [], None
        for i, buffer in enumerate(self.plan.buffers):
            if buffer.role == "parameter":
                tensor = packed[buffer.name]
            elif buffer.role == "input":
                self.given, tensor = i, torch.empty(0, device=gpu.torch_device)
            else:
                # At least one byte, so that it has an address. Zeros, so that what no kernel writes is the same in every run.
                shape = [*buffer.shape[:-1], max(1, buffer.shape[-1])]
                tensor = torch.zeros(shape, dtype=TYPES[buffer.element], device=gpu.torch_device)
            self.buffers.append(tensor)
        (self.output,) = self.plan.outputs
        self.prepared = [self.prepare(program.kernels[x.kernel], x) for x in self.plan.launches]
        self.names = [x.kernel for x in self.plan.launches]

    def prepare(self, kernel, launch):
        """Everything of a launch that does not change, and which values are the input or a map of it."""
        values, inputs, maps = [], [], []
        for argument in launch.arguments:
            if "buffer" not in argument:
                values.append(ctypes.c_int64(argument["value"]))
                continue
            if argument["buffer"] == self.given:
                inputs.append(len(values))
            values.append(ctypes.c_uint64(self.gpu.address(self.buffers[argument["buffer"]])))
            values += [ctypes.c_int64(size) for size in argument["sizes"]]
        slots = [value.value for value in values]
        for entry in kernel.maps:
            encode = partial(self.encode, entry, *entry.with_rows(slots))
            if entry.slot in inputs:
                maps.append((len(values), encode))
                values.append(None)
            else:
                values.append(encode(slots[entry.slot]))
        grid = 1 if launch.single else self.gpu.multiprocessors * kernel.blocks_per_sm
        return kernel, grid, values, inputs, maps

    def encode(self, entry, rows, columns, pointer):
        return self.gpu.driver.tensor_map(pointer, max(rows, 1), columns, entry.box, entry.swizzle)

    def launch(self, number, x):
        kernel, grid, values, inputs, maps = self.prepared[number]
        for i in inputs:
            values[i].value = self.gpu.address(x)
        for i, encode in maps:
            values[i] = encode(self.gpu.address(x))
        self.gpu.run(kernel, grid, values)

    def __call__(self, x):
        for number in range(len(self.prepared)):
            self.launch(number, x)
        return self.buffers[self.output]
