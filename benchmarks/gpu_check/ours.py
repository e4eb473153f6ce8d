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


def packed_parameters(program, weights):
    """The weights as the program's kernels read them, by name."""
    plan = program.plan(1)
    return {b.name: pack(weights[b.name], b.recipe).contiguous() for b in plan.buffers if b.role == "parameter"}


class CompiledLayer:
    name = "moe-mlir"

    def __init__(self, driver, functions, program, packed, tokens, multiprocessors):
        self.driver, self.plan = driver, program.plan(tokens)
        self.buffers, self.given = [], None
        for i, buffer in enumerate(self.plan.buffers):
            if buffer.role == "parameter":
                tensor = packed[buffer.name]
            elif buffer.role == "input":
                self.given, tensor = i, torch.empty(0, device="cuda")
            else:
                # At least one byte, so that it has an address.
                tensor = torch.empty([*buffer.shape[:-1], max(1, buffer.shape[-1])], dtype=TYPES[buffer.element], device="cuda")
            self.buffers.append(tensor)
        (self.output,) = self.plan.outputs
        self.launches = [self.prepare(functions, program.kernels[x.kernel], x, multiprocessors) for x in self.plan.launches]

    def prepare(self, functions, kernel, launch, multiprocessors):
        """Everything of a launch that does not change, and which values are the input or a map of it."""
        values, inputs, maps = [], [], []
        for argument in launch.arguments:
            if "buffer" not in argument:
                values.append(ctypes.c_int64(argument["value"]))
                continue
            if argument["buffer"] == self.given:
                inputs.append(len(values))
            values.append(ctypes.c_uint64(self.buffers[argument["buffer"]].data_ptr()))
            values += [ctypes.c_int64(size) for size in argument["sizes"]]
        slots = [value.value for value in values]
        for entry in kernel.maps:
            encode = partial(self.encode, entry, *entry.with_rows(slots))
            if entry.slot in inputs:
                maps.append((len(values), encode))
                values.append(None)
            else:
                values.append(encode(slots[entry.slot]))
        grid = 1 if launch.single else multiprocessors * kernel.blocks_per_sm
        return functions[kernel.name], grid, kernel, values, inputs, maps

    def encode(self, entry, rows, columns, pointer):
        return self.driver.tensor_map(pointer, rows, columns, entry.box, entry.swizzle)

    def __call__(self, x):
        stream = torch.cuda.current_stream().cuda_stream
        for function, grid, kernel, values, inputs, maps in self.launches:
            for i in inputs:
                values[i].value = x.data_ptr()
            for i, encode in maps:
                values[i] = encode(x.data_ptr())
            self.driver.launch(function, grid, kernel.threads, kernel.shared, values, stream)
        return self.buffers[self.output]
