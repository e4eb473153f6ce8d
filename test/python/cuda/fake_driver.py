"""The driver's library with the emulated GPU behind it: what benchmarks/gpu_check calls on a machine with a GPU, called without one.

Functions take the ctypes arguments that ctypes would hand to libcuda. Kernels are those of shared objects built from the texts of the cubins;
a captured stream keeps its launches, with the values of their parameters.
"""

import ctypes

import numpy as np
from emulated import aligned

MULTIPROCESSORS = 3
ATTRIBUTES = {16: MULTIPROCESSORS, 38: 60 << 20, 75: 9, 76: 0}
NOT_INITIALIZED, INVALID, TOO_LARGE = 3, 1, 720


class Options(ctypes.Structure):
    _fields_ = [("blocks", ctypes.c_int32), ("threads", ctypes.c_int32), ("shared", ctypes.c_uint32), ("timing", ctypes.c_int32)] + [
        ("seed", ctypes.c_uint64), ("skewed", ctypes.c_int32), ("strict", ctypes.c_int32), ("resident", ctypes.c_int32), ("first", ctypes.c_int32)
    ]  # fmt: skip


class FakeCuda:
    def __init__(self, emulator, kernels, parameter_bytes):
        """`kernels`: {name: pointer}; `parameter_bytes`: {name: bytes of each parameter}."""
        self.emulator, self.kernels, self.parameter_bytes = emulator, kernels, parameter_bytes
        self.memory, self.names, self.allowed, self.captured, self.graphs = {}, {}, {}, None, []
        self.message = ""

    def __getitem__(self, name):
        return getattr(self, name)

    def cuInit(self, flags):
        return 0

    def cuDeviceGet(self, device, number):
        device._obj.value = number
        return 0

    def cuDevicePrimaryCtxRetain(self, context, device):
        context._obj.value = 1
        return 0

    def cuCtxSetCurrent(self, context):
        return 0

    def cuCtxSynchronize(self):
        return 0

    def cuGetErrorString(self, code, text):
        text._obj.value = (self.message or "fake error").encode()
        return 0

    def cuDeviceGetAttribute(self, value, which, device):
        value._obj.value = ATTRIBUTES[which]
        return 0

    def cuDeviceGetName(self, buffer, size, device):
        buffer.value = b"emulated GPU"
        return 0

    def cuDriverGetVersion(self, value):
        value._obj.value = 13000
        return 0

    def cuModuleLoadData(self, module, image):
        module._obj.value = 1
        return 0 if bytes(image).startswith(b"\x7fELF") else 200

    def cuModuleGetFunction(self, function, module, name):
        if name.decode() not in self.kernels:
            return 500
        function._obj.value = len(self.names) + 1
        self.names[function._obj.value] = name.decode()
        return 0

    def cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8 and value <= 227 << 10
        self.allowed[function.value] = value
        return 0

    def cuMemAlloc_v2(self, pointer, size):
        array = aligned(size.value, np.uint8)
        pointer._obj.value = array.ctypes.data
        self.memory[array.ctypes.data] = array
        return 0

    def cuMemFree_v2(self, pointer):
        del self.memory[pointer.value]
        return 0

    def inside(self, pointer, size):
        array = self.memory.get(pointer)
        return array is not None and size <= array.nbytes

    def cuMemcpyHtoD_v2(self, pointer, source, size):
        if not self.inside(pointer.value, size.value):
            return INVALID
        ctypes.memmove(pointer.value, source.value, size.value)
        return 0

    def cuMemcpyDtoH_v2(self, target, pointer, size):
        if not self.inside(pointer.value, size.value):
            return INVALID
        ctypes.memmove(target.value, pointer.value, size.value)
        return 0

    def cuTensorMapEncodeTiled(self, to, kind, rank, base, sizes, strides, box, steps, interleave, swizzle, promotion, fill):
        assert (rank, interleave, fill, list(steps)) == (2, 0, 0, [1, 1]) and to.value % 64 == 0
        message = ctypes.create_string_buffer(256)
        item = {0: 1, 1: 2, 2: 4, 4: 8}[kind]
        widths = {0: 0, 1: 32, 2: 64, 3: 128}
        failed = self.emulator.library.moe_emulation_encode_tile_2d(
            to.value, base.value, item, sizes[0], sizes[1], strides[0], box[0], box[1], widths[swizzle], message, len(message)
        )
        self.message = message.value.decode()
        return INVALID if failed else 0

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        assert (gy, gz, by, bz) == (1, 1, 1, 1) and extra is None
        if shared > self.allowed.get(function.value, 48 << 10):
            return INVALID
        name = self.names[function.value]
        values = [ctypes.string_at(parameters[i], size) for i, size in enumerate(self.parameter_bytes[name])]
        if stream.value and self.captured is not None:
            self.captured.append((name, gx, bx, shared, values))
            return 0
        return self.run(name, gx, bx, shared, values)

    def cuLaunchCooperativeKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters):
        if gx > MULTIPROCESSORS * 64 - 1:
            self.message = "too many blocks in cooperative launch"
            return TOO_LARGE
        return self.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, None)

    def run(self, name, blocks, threads, shared, values):
        library = self.emulator.library
        library.moe_emulation_clear()
        for pointer, array in self.memory.items():
            library.moe_emulation_register(pointer, array.nbytes, b"memory", 1)
        copies = []
        for value in values:  # a tensor map has to lie at a multiple of 64 bytes
            copies.append(aligned(len(value), np.uint8))
            copies[-1][...] = np.frombuffer(value, np.uint8)
        pointers = (ctypes.c_void_p * len(values))(*[copy.ctypes.data for copy in copies])
        options = Options(blocks=blocks, threads=threads, shared=shared, timing=1, seed=1)
        message = ctypes.create_string_buffer(1 << 14)
        library.moe_emulation_launch(self.kernels[name], pointers, ctypes.addressof(options), message, len(message))
        self.message = message.value.decode()
        return 700 if self.message else 0

    def cuStreamCreate(self, stream, flags):
        stream._obj.value = 7
        return 0

    def cuStreamSynchronize(self, stream):
        return 0

    def cuStreamBeginCapture_v2(self, stream, mode):
        self.captured = []
        return 0

    def cuStreamEndCapture(self, stream, graph):
        self.graphs.append(self.captured)
        self.captured, graph._obj.value = None, len(self.graphs)
        return 0

    def cuGraphGetNodes(self, graph, nodes, count):
        count._obj.value = len(self.graphs[graph.value - 1])
        return 0

    def cuGraphInstantiateWithFlags(self, executable, graph, flags):
        executable._obj.value = graph.value
        return 0

    def cuGraphLaunch(self, executable, stream):
        return next((code for launch in self.graphs[executable.value - 1] if (code := self.run(*launch))), 0)
