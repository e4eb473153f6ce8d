"""The emulated GPU as a device of the steps: the real one's code on a driver that runs kernels on the emulated GPU, PyTorch on the CPU, and the
clock on the wall. Times mean nothing; that everything runs and that numbers are right does."""

import ctypes
import time
from pathlib import Path

import numpy as np

from ..cuda import Driver
from ..emulation import Emulator
from ..sizes import DRY as SIZES  # noqa: F401: of the seam
from .fake_driver import FakeCuda
from .images import Images
from .real import Gpu

SLOWNESS = 10


class Replayed:
    """Calls in place of a CUDA graph of them."""

    def __init__(self, calls):
        self.calls = calls

    def replay(self):
        for call in self.calls:
            call()


class DryGpu(Gpu):
    torch_device = "cpu"
    features = frozenset()

    def start(self):
        pass

    def address(self, tensor):
        self.driver.library.adopt(tensor.data_ptr(), max(tensor.nbytes, 1))
        return tensor.data_ptr()

    def stream(self):
        return None

    def own_stream(self):
        return None

    def session_options(self, stream):
        """The code for a CPU, as of executables."""
        return {"device": b"cpu"}

    def bytes_at(self, address, size):
        return np.frombuffer(ctypes.string_at(address, size), np.uint8)

    def free_unused(self):
        pass

    def capture(self, calls, stream=None):
        for call in calls:
            call()
        return Replayed(calls)

    def count_launches(self, call):
        before = self.driver.library.launches
        call()
        return self.driver.library.launches - before

    def seconds_of(self, run, repeats=1, stream=None):
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        return (time.perf_counter() - start) / repeats

    def time(self, call, least, stream=None):
        seconds = self.seconds_of(call)
        return {"median": seconds, "samples": [seconds], "calls": 1}


def executable_flags(seconds):
    """The executables' own code for a CPU: the emulated GPU is not behind their driver."""
    return "--device", "cpu"


def open_device(bundle, settings):
    """`settings`: the emulation's "library", a host "compiler", and a "folder" for what it makes."""
    emulator = Emulator(settings["library"], settings["compiler"])
    return DryGpu(Driver(library=FakeCuda(emulator, Images(bundle, emulator, Path(settings["folder"])))))
