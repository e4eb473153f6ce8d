"""The kernels of micro/*.cu: how they are made, launched, and what they must compute. Words of memory are multiples of `FACTOR`, so that every sum is
known without the memory."""

import ctypes
import json

import numpy as np

from .cuda import DeviceBuffer

FACTOR = 2654435761
ROW = 128  # bytes of a row of a box
BARRIERS = 1024  # bytes of shared memory before the boxes
FILES = {
    "stream": ("streamBoxes", "streamLoads"), "roundtrip": ("roundTripBox", "roundTripCopies", "roundTripLoads"), "launch": ("link", "dependentLink"),
    "store": ("storeF32", "storeBf16"), "costs": ("costs",),
}  # fmt: skip
CYCLES, NANOSECONDS = slice(0, 2), slice(2, 4)  # of what a block writes of its time: start and end
LARGEST = 200 << 10  # bytes of shared memory that any launch asks for


def memory(bytes_):
    """Words 0, FACTOR, 2 * FACTOR ..."""
    words = np.arange(bytes_ // 4, dtype=np.uint32)
    words *= np.uint32(FACTOR & 0xFFFFFFFF)
    return words


def word(index):
    return index * FACTOR % 2**32


class Kernels:
    """On a device, from a folder of cubins."""

    def __init__(self, gpu, folder, *files):
        self.gpu, self.functions = gpu, {}
        for file in files:
            cubin = (folder / f"{file}.cubin").read_bytes()
            for name in FILES[file]:
                self.functions[name] = gpu.driver.load(cubin, name, LARGEST)

    def run(self, name, blocks, threads, shared, *arguments, **how):
        """`arguments`: buffers, numbers, and tensor maps."""
        values = [ctypes.c_int64(a) if isinstance(a, int) else ctypes.c_uint64(a.pointer.value) if isinstance(a, DeviceBuffer) else a for a in arguments]
        self.gpu.driver.launch(self.functions[name], blocks, threads, shared, values, self.gpu.stream(), **how)

    def buffer(self, shape, dtype):
        return self.gpu.allocate(shape, dtype, 0)

    def map_of(self, buffer, rows_of_box):
        """The buffer as a matrix of rows of 128 bytes."""
        return self.gpu.driver.tensor_map(buffer.pointer.value, buffer.nbytes // ROW, ROW // 2, (rows_of_box, ROW // 2), ROW)

    def stream_boxes(self, buffer, blocks, boxes, first, boxes_of_set, rows, stages):
        """(times [blocks, 4], whether the sums are right)"""
        sums, times = self.buffer((blocks, 32), np.uint32), self.buffer((blocks, 4), np.uint64)
        shared = BARRIERS + stages * rows * ROW
        self.run("streamBoxes", blocks, 64, shared, sums, times, boxes, first, boxes_of_set, rows, stages, self.map_of(buffer, rows))
        self.gpu.synchronize()
        # A lane's word lies where the swizzle of its row puts it.
        places = 64 * np.arange(32)
        places = (places ^ (places >> 7 & 7) << 4) // 4
        expected = np.empty((blocks, 32), np.uint32)
        for block in range(blocks):
            start = boxes_of_set // blocks * block
            rounds, rest = divmod(boxes, boxes_of_set)
            total = rounds * sum(range(boxes_of_set)) + sum((start + i) % boxes_of_set for i in range(rest)) + boxes * first
            expected[block] = [word(total * rows * ROW // 4 + boxes * int(place)) for place in places]
        return times.read().astype(np.int64), bool((sums.read() == expected).all())

    def stream_loads(self, buffer, blocks, threads, bytes_, rounds):
        """The same of plain loads of the first `bytes_` of a buffer, by every block."""
        sums, times = self.buffer((blocks, threads), np.uint32), self.buffer((blocks, 4), np.uint64)
        self.run("streamLoads", blocks, threads, 0, sums, times, buffer, bytes_ // 16, rounds)
        self.gpu.synchronize()
        steps = bytes_ // (128 * threads)
        vectors = 8 * threads * sum(range(steps)) * 8 + steps * threads * sum(range(8))  # of thread 0: the sum of their numbers
        counted = 8 * steps
        expected = [word(rounds * (4 * 4 * (vectors + counted * t) + counted * 6)) for t in range(threads)]
        return times.read().astype(np.int64), bool((sums.read() == np.array(expected, np.uint32)).all())

    def round_trip_box(self, buffer, boxes, first, stride, rows):
        """(times of the launch [4], cycles of each box, whether the sum is right)"""
        cycles, sums = self.buffer((4 + boxes,), np.uint64), self.buffer((1,), np.uint32)
        shared = BARRIERS + rows * ROW
        self.run("roundTripBox", 1, 32, shared, cycles, sums, boxes, first, stride, rows, self.map_of(buffer, rows))
        self.gpu.synchronize()
        expected = word(rows * ROW // 4 * sum(first + i * stride for i in range(boxes)))
        times = cycles.read().astype(np.int64)
        return times[:4], times[4:], bool(sums.read()[0] == expected)

    def round_trip_copies(self, buffer, groups, first, stride):
        cycles, sums = self.buffer((4 + groups,), np.uint64), self.buffer((128,), np.uint32)
        self.run("roundTripCopies", 1, 128, BARRIERS + 128 * 16, cycles, sums, buffer, groups, first, stride)
        self.gpu.synchronize()
        starts = 512 * sum(first + i * stride for i in range(groups))
        expected = np.array([word(starts + 4 * t * groups) for t in range(128)], np.uint32)
        times = cycles.read().astype(np.int64)
        return times[:4], times[4:], bool((sums.read() == expected).all())

    def round_trip_loads(self, chain, steps, distance):
        """`chain`: each word says where the next one is, `distance` words away."""
        cycles, sums = self.buffer((4,), np.uint64), self.buffer((1,), np.uint32)
        self.run("roundTripLoads", 1, 32, 0, cycles, sums, chain, steps)
        self.gpu.synchronize()
        times = cycles.read().astype(np.int64)
        return times, np.array([(times[1] - times[0]) / steps]), bool(sums.read()[0] == steps * distance)

    def store(self, name, tiles, rounds, columns):
        """(times [blocks, 4], whether every element was written): tiles of 128 rows, of 256 columns in f32 or of 128 in bf16."""
        blocks, value = self.gpu.multiprocessors, 3
        width, dtype, bits = {"storeF32": (256, np.float32, value), "storeBf16": (128, np.uint16, 0x4040)}[name]
        to, times = self.buffer((tiles * width // columns * 128, columns), dtype), self.buffer((blocks, 4), np.uint64)
        self.run(name, blocks, 256, 0, to, times, tiles, rounds, columns, value)
        self.gpu.synchronize()
        return times.read().astype(np.int64), bool((to.read() == bits).all())

    def costs(self, rounds):
        """(cycles of each of the three things, whether every round was done)"""
        cycles, sums = self.buffer((3,), np.uint64), self.buffer((1,), np.uint32)
        self.run("costs", 1, 384, 64, cycles, sums, rounds)
        self.gpu.synchronize()
        return cycles.read().astype(np.int64) / rounds, bool(sums.read()[0] == 3 * rounds)


def read_constants(bundle):
    """What the cost model assumed when the bundle was made (constants.py)."""
    return json.loads((bundle / "micro" / "constants.json").read_text())


def write_micro(folder, build, compiler, say):
    """micro/ of a bundle in `folder`: texts, cubins, and what the cost model assumes."""
    from .compiling import ROOT, CompileError
    from .constants import write_constants

    say("micro: cubins and the cost model's constants")
    (folder / "micro").mkdir(parents=True)
    for file in FILES:
        text = (ROOT / "benchmarks" / "gpu_check" / "micro" / f"{file}.cu").read_text()
        cubin, log = compiler.compile(text, f"{file}.cu")
        if cubin is None:
            raise CompileError(f"{file}: {log}")
        (folder / "micro" / f"{file}.cu").write_text(text)
        (folder / "micro" / f"{file}.cubin").write_bytes(cubin)
    write_constants(folder / "micro" / "constants.json", build)
