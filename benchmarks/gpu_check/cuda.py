"""A GPU as a device of the checks, by ctypes on the driver's libcuda: no other package is needed."""

import ctypes

import numpy as np

MULTIPROCESSORS, L2_BYTES, MAJOR, MINOR, COOPERATIVE = 16, 38, 75, 76, 95  # CUdevice_attribute
DYNAMIC_SHARED = 8  # CUfunction_attribute
ELEMENTS = {1: 0, 2: 1, 4: 2, 8: 4}  # CUtensorMapDataType of unsigned integers by bytes
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
L2_PROMOTION = 3  # of 256 bytes, as the runtime encodes maps
PROGRAMMATIC_SERIALIZATION = 6  # CUlaunchAttributeID


class CudaError(Exception):
    """A function of the driver failed."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute with a value of one int."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)), ("count", ctypes.c_uint)]


class Driver:
    """libcuda with the primary context of a device, which PyTorch uses too."""

    def __init__(self, device=0, library=None):
        """`library`: what stands for libcuda, with its functions by name."""
        try:
            self.library = library or ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CudaError(f"no CUDA driver: {error}") from None
        self.call("cuInit", 0)
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(self.device), device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, function, *arguments):
        code = self.library[function](*arguments)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise CudaError(f"{function}: {(text.value or b'unknown').decode()} ({code})")

    def attribute(self, which):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, self.device)
        return value.value

    def capability(self):
        return self.attribute(MAJOR), self.attribute(MINOR)

    def name(self):
        buffer = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", buffer, len(buffer), self.device)
        return buffer.value.decode()

    def version(self):
        value = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(value))
        return value.value

    def load(self, cubin, name, shared=0):
        """The function `name` of a cubin, allowed `shared` bytes of dynamic shared memory."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
        return function

    def tensor_map(self, pointer, rows, columns, box, swizzle, item_bytes=2):
        """128 bytes at a multiple of 64: the map of a row-major matrix."""
        memory = np.zeros(128 + 64, np.uint8)
        start = -memory.ctypes.data % 64
        tensor_map = memory[start : start + 128]
        sizes, strides = (ctypes.c_uint64 * 2)(columns, rows), (ctypes.c_uint64 * 1)(columns * item_bytes)
        boxes, steps = (ctypes.c_uint32 * 2)(box[1], box[0]), (ctypes.c_uint32 * 2)(1, 1)
        self.call(
            "cuTensorMapEncodeTiled", ctypes.c_void_p(tensor_map.ctypes.data), ELEMENTS[item_bytes], 2, ctypes.c_void_p(pointer),
            sizes, strides, boxes, steps, 0, SWIZZLES[swizzle], L2_PROMOTION, 0,
        )  # fmt: skip
        return tensor_map

    def launch(self, function, grid, threads, shared, values, stream=None, cooperative=False, dependent=False):
        """`values`: ctypes values or NumPy bytes (structs, tensor maps), one per parameter. `dependent`: it may begin when the launch before it
        allows it (programmatic dependent launch)."""
        addresses = [v.ctypes.data if isinstance(v, np.ndarray) else ctypes.addressof(v) for v in values]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        sizes = (grid, 1, 1, threads, 1, 1, shared, ctypes.c_void_p(stream), pointers)
        if cooperative:
            self.call("cuLaunchCooperativeKernel", function, *sizes)
        elif dependent:
            attribute = LaunchAttribute(id=PROGRAMMATIC_SERIALIZATION, value=1)
            config = LaunchConfig((ctypes.c_uint * 7)(*sizes[:7]), stream, ctypes.pointer(attribute), 1)
            self.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        else:
            self.call("cuLaunchKernel", function, *sizes, None)

    def synchronize(self):
        self.call("cuCtxSynchronize")


class DeviceBuffer:
    """Memory of the device that ends with the object."""

    def __init__(self, driver, shape, dtype):
        self.driver, self.shape, self.dtype = driver, tuple(shape), np.dtype(dtype)
        self.nbytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        self.pointer = ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(max(self.nbytes, 256)))

    def write(self, array):
        array = np.ascontiguousarray(array, self.dtype)
        if array.nbytes:
            self.driver.call("cuMemcpyHtoD_v2", self.pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def read(self):
        array = np.empty(self.shape, self.dtype)
        if array.nbytes:
            self.driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), self.pointer, ctypes.c_size_t(array.nbytes))
        return array

    def __del__(self):
        self.driver.library.cuMemFree_v2(self.pointer)


class CudaDevice:
    """The interface of EmulatedDevice."""

    name = "gpu"

    def __init__(self, driver=None):
        self.driver = driver or Driver()
        self.multiprocessors = self.driver.attribute(MULTIPROCESSORS)
        self.functions, self.programs = {}, []

    def load(self, program):
        """Kernels are told apart by the program that they are of: variants of a program have the same names."""
        for name, kernel in program.kernels.items():
            self.functions[id(kernel)] = self.driver.load(program.cubins[name], name, kernel.shared)
        self.programs.append(program)

    def allocate(self, shape, dtype, fill):
        buffer = DeviceBuffer(self.driver, shape, dtype)
        buffer.write(np.full(buffer.shape, 0 if fill is None else fill, buffer.dtype))
        return buffer

    def upload(self, array, writable=False):
        buffer = DeviceBuffer(self.driver, array.shape, array.dtype)
        buffer.write(array)
        return buffer

    def download(self, buffer):
        return buffer.read()

    def tensor_map(self, buffer, rows, columns, entry):
        return self.driver.tensor_map(buffer.pointer.value, max(rows, 1), columns, entry.box, entry.swizzle, buffer.dtype.itemsize)

    def launch(self, kernel, arguments, maps, blocks, stream=None):
        values = [ctypes.c_int64(a) if isinstance(a, int) else a.pointer for a in arguments]
        self.driver.launch(self.functions[id(kernel)], blocks, kernel.threads, kernel.shared, values + maps, stream)

    def finish(self):
        self.driver.synchronize()
