"""The driver's library with the emulated GPU behind it: what benchmarks/gpu_check calls on a machine with a GPU, called without one.

Functions take the ctypes arguments that ctypes would hand to libcuda. A cubin stands for the text beside it in the bundle, which is built for
the emulated GPU when it is loaded; a captured stream keeps its launches, with the values of their parameters.
"""

import ctypes

import numpy as np

from ..emulation import aligned, options_of

MULTIPROCESSORS = 3
ATTRIBUTES = {16: MULTIPROCESSORS, 38: 60 << 20, 75: 9, 76: 0}
INVALID, NO_IMAGE, NOT_FOUND, BROKEN, TOO_LARGE = 1, 200, 500, 700, 720


class FakeCuda:
    def __init__(self, emulator, images):
        self.emulator, self.images = emulator, images
        self.memory, self.adopted, self.modules, self.functions, self.allowed, self.captured, self.graphs = {}, {}, [], [], {}, None, []
        self.message, self.launches = "", 0

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
        loaded = self.images.load(bytes(image))
        if loaded is None:
            return NO_IMAGE
        self.modules.append(loaded)
        module._obj.value = len(self.modules)
        return 0

    def cuModuleGetFunction(self, function, module, name):
        kernels, sizes = self.modules[module.value - 1]
        if name.decode() not in kernels:
            return NOT_FOUND
        self.functions.append((kernels[name.decode()], sizes[name.decode()]))
        function._obj.value = len(self.functions)
        return 0

    def cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8 and value <= 227 << 10
        self.allowed[function.value] = value
        return 0

    def adopt(self, pointer, size):
        """Memory that was not allocated here, as that of PyTorch's tensors on the CPU; what was adopted there before has been freed."""
        self.adopted = {p: n for p, n in self.adopted.items() if p + n <= pointer or pointer + size <= p}
        self.adopted[pointer] = size

    def cuMemAlloc_v2(self, pointer, size):
        array = aligned(size.value, np.uint8)
        pointer._obj.value = array.ctypes.data
        self.adopt(array.ctypes.data, size.value)
        del self.adopted[array.ctypes.data]
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
        assert (rank, interleave, promotion, fill, list(steps)) == (2, 0, 3, 0, [1, 1]) and to.value % 64 == 0
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
        kernel, sizes = self.functions[function.value - 1]
        values = [ctypes.string_at(parameters[i], size) for i, size in enumerate(sizes)]
        if stream.value and self.captured is not None:
            self.captured.append((kernel, gx, bx, shared, values))
            return 0
        return self.run(kernel, gx, bx, shared, values)

    def cuLaunchCooperativeKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters):
        if gx > MULTIPROCESSORS * 64 - 1:
            self.message = "too many blocks in cooperative launch"
            return TOO_LARGE
        return self.cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, None)

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        """With one attribute, that the launch may begin before its predecessor has ended; here it does not."""
        config = config._obj
        attribute = config.attributes[0]
        assert (config.count, attribute.id, attribute.value) == (1, 6, 1)
        stream = ctypes.c_void_p(config.stream)
        return self.cuLaunchKernel(function, *config.sizes, stream, parameters, extra)

    def run(self, kernel, blocks, threads, shared, values):
        """Each launch under another schedule, so that what depends on it shows as bits that differ."""
        library = self.emulator.library
        library.moe_emulation_clear()
        for pointer, size in [*((pointer, array.nbytes) for pointer, array in self.memory.items()), *self.adopted.items()]:
            library.moe_emulation_register(pointer, size, b"memory", 1)
        copies = []
        for value in values:  # a tensor map has to lie at a multiple of 64 bytes
            copies.append(aligned(len(value), np.uint8))
            copies[-1][...] = np.frombuffer(value, np.uint8)
        pointers = (ctypes.c_void_p * len(values))(*[copy.ctypes.data for copy in copies])
        self.launches += 1
        options = options_of(blocks, threads, shared, seed=self.launches, timing="lazy", skewed=self.launches % 2 == 0)
        message = ctypes.create_string_buffer(1 << 14)
        library.moe_emulation_launch(kernel, pointers, ctypes.addressof(options), message, len(message))
        self.message = message.value.decode()
        return BROKEN if self.message else 0

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
