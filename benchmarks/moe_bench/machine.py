"""The machine's limits, measured: read bandwidth and peak arithmetic (native/machine.cpp)."""

import ctypes
import os
from pathlib import Path

from .errors import BenchError
from .nativecode import build

SOURCE = Path(__file__).parent / "native" / "machine.cpp"

# Twice what the last cache level of a large Xeon holds; whoever reads more has the same bandwidth.
LARGEST_READ = 1 << 30
SMALLEST_READ = 1 << 16


class Machine:
    """Limits of `cores`, a list of CPU numbers. The library is compiled into `folder` once per source and compiler."""

    def __init__(self, folder, cores):
        library = ctypes.CDLL(str(build(Path(folder), [SOURCE], what="measure the machine")))
        self._cores = (ctypes.c_int32 * len(cores))(*cores)
        self._read, self._f32, self._bf16 = library.machine_read, library.machine_peak_f32, library.machine_peak_bf16
        self._read_file = library.machine_read_file
        for function in (self._read, self._read_file, self._f32, self._bf16):
            function.restype = ctypes.c_double
        self._peaks = {}

    def read_bandwidth(self, bytes_, seconds=0.05):
        """Bytes per second of reading that many bytes again and again: from the level of memory that holds them."""
        size = min(max(int(bytes_), SMALLEST_READ), LARGEST_READ)
        rate = self._read(self._cores, len(self._cores), ctypes.c_int64(size), ctypes.c_double(seconds))
        if rate < 0:
            raise BenchError(f"no memory for a read loop over {size >> 20} MiB", 2)
        return rate

    def file_bandwidth(self, path, seconds=0.05):
        """Bytes per second of reading a file that is mapped: on a virtual machine, memory can be half as fast in places."""
        rate = self._read_file(self._cores, len(self._cores), os.fsencode(path), ctypes.c_double(seconds))
        if rate < 0:
            raise BenchError(f"cannot map '{path}' to read it", 70)
        return rate

    def peak(self, dtype, seconds=0.2):
        """The same as measure_peak, measured once."""
        if dtype not in self._peaks:
            self._peaks[dtype] = self.measure_peak(dtype, seconds)
        return self._peaks[dtype]

    def measure_peak(self, dtype, seconds):
        """Floating-point operations per second of the fastest instruction for `dtype`."""
        function = self._bf16 if dtype == "bfloat16" else self._f32
        return function(self._cores, len(self._cores), ctypes.c_double(seconds))
