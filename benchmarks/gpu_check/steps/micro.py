"""Microbenchmarks of what the cost model assumes: each row names the constant that it checks, with the value that the compiler reports today.

`cache`: the rate of the L2 cache, all multiprocessors at once. `memory`: one multiprocessor's rate by bytes on their way, and the device's.
`round trips`: one access at a time. `launches`: launches with nothing to do, in a CUDA graph. `stores`: results from
registers to the cache. `costs`: meetings and barriers.
"""

import numpy as np

from ..microkernels import CYCLES, NANOSECONDS, Kernels, memory, read_constants
from ..stamps import distribution
from ..stepping import Part, main

KIB = 1 << 10
ROWS = 64  # of a box of weights
BOX = ROWS * 128
SET = 16 << 20  # bytes that stay in the L2 cache
IN_FLIGHT = (2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192)  # KiB
TRIPS = 1000
LINKS = 64


def parts(bundle, sizes):
    for name in RUN:
        yield Part(name, seconds=12)


def write(step, what, measured, unit, key, passed, **more):
    """A row; `key`: of the constant that it checks."""
    constant = read_constants(step.bundle)[key] if key else None
    comparable = constant and constant["unit"] == unit and constant["value"]
    ratio = measured / constant["value"] if comparable else None
    step.write("micro", what=what, measured=measured, unit=unit, constant=constant, ratio=ratio, passed=passed, **more)


def spans(times):
    """(cycles, nanoseconds) of each block, and of all blocks together."""
    cycles, nanoseconds = np.diff(times[:, CYCLES]).ravel(), np.diff(times[:, NANOSECONDS]).ravel()
    return cycles, nanoseconds, int(times[:, 3].max() - times[:, 2].min())


def rate(bytes_of_block, times):
    """What a block reads: bytes per second and per cycle, the median of all blocks; and the clock."""
    cycles, nanoseconds, _ = spans(times)
    seconds = float(np.median(nanoseconds)) * 1e-9
    return bytes_of_block / seconds, {"bytes per cycle": bytes_of_block / float(np.median(cycles)), "hertz": float(np.median(cycles)) / seconds}


def cache(step):
    kernels = Kernels(step.gpu, step.bundle / "micro", "stream")
    size = min(SET, step.sizes.micro)
    buffer, boxes, blocks = step.gpu.upload(memory(size)), size // BOX, step.gpu.multiprocessors
    for kib in (64, 128, 144, 192):
        stages = min(kib * KIB // BOX, boxes)
        for _ in range(2):  # the first one brings the set into the cache
            times, right = kernels.stream_boxes(buffer, blocks, 4 * boxes, 0, boxes, ROWS, stages)
        measured, more = rate(4 * size, times)
        write(step, "L2 to every multiprocessor, boxes of TMA", measured, "bytes/s", "cache", right, **{"bytes on their way": stages * BOX}, **more)
    threads = min(1024, size // 128)
    for _ in range(2):
        times, right = kernels.stream_loads(buffer, blocks, threads, size, 4)
    measured, more = rate(4 * size, times)
    write(step, "L2 to every multiprocessor, loads of 16 bytes", measured, "bytes/s", "cache", right, **{"bytes on their way": 128 * threads}, **more)


def memory_rates(step):
    kernels = Kernels(step.gpu, step.bundle / "micro", "stream")
    size, blocks = step.sizes.micro, step.gpu.multiprocessors
    buffer, first = step.gpu.upload(memory(size)), 0
    for kib in (kib for kib in IN_FLIGHT if kib * KIB <= size):
        rows = min(ROWS, kib * KIB // 128)
        stages, bytes_of_box = kib * KIB // (rows * 128), rows * 128
        # Each from a place that nothing has read yet.
        boxes = min(TRIPS * stages, size // 2 // bytes_of_box)
        first = first if first + boxes * bytes_of_box <= size else 0
        times, right = kernels.stream_boxes(buffer, 1, boxes, first // bytes_of_box, boxes, rows, stages)
        first += boxes * bytes_of_box + -boxes * bytes_of_box % BOX
        measured, more = rate(boxes * bytes_of_box, times)
        write(step, "memory to one multiprocessor", measured, "bytes/s", "cache", right, **{"bytes on their way": kib * KIB}, **more)
    boxes = size // BOX
    stages = min(144 * KIB // BOX, boxes)
    times, right = kernels.stream_boxes(buffer, blocks, boxes // blocks, 0, boxes, ROWS, stages)
    measured = boxes // blocks * blocks * BOX / (spans(times)[2] * 1e-9)
    write(step, "memory to every multiprocessor, boxes of TMA", measured, "bytes/s", "reachable", right, **{"bytes on their way": stages * BOX})


def round_trips(step):
    kernels = Kernels(step.gpu, step.bundle / "micro", "stream", "roundtrip")
    size = step.sizes.micro
    buffer, share = step.gpu.upload(memory(size)), size // 4

    def flush():
        """What lies in the cache goes: the last half is read, of which nothing is used below."""
        boxes = min(2 * step.gpu.l2_bytes, size // 2) // BOX
        kernels.stream_boxes(buffer, 1, boxes, size // 2 // BOX, boxes, ROWS, min(16, boxes))

    cache = read_constants(step.bundle)["cache"]["value"]

    def trips(what, count, call, key="flight"):
        """Twice the same places: in memory the first time, then in the cache."""
        flush()
        for place in ("memory", "L2"):
            times, cycles, right = call()
            hertz = float(times[1] - times[0]) / max(int(times[3] - times[2]), 1) * 1e9
            seconds = float(np.median(cycles)) / hertz
            found = {"cycles": distribution(cycles), "hertz": hertz, "trips": count, "latency": seconds}
            if key == "flight":
                # What has to be on its way so that this latency is hidden at the cost model's rate.
                write(step, f"{what}, from {place}", seconds * cache, "bytes", key, right, **found)
            else:
                write(step, f"{what}, from {place}", seconds, "s", key, right, **found)

    boxes = share // BOX
    count, stride = min(TRIPS, boxes), max(1, min(8, boxes // TRIPS))
    trips("round trip of a box of TMA", count, lambda: kernels.round_trip_box(buffer, count, 0, stride, ROWS))
    groups = share // (2 * KIB)
    copied, apart = min(TRIPS, groups), max(1, min(32, groups // TRIPS))
    trips("round trip of copies of 16 bytes", copied, lambda: kernels.round_trip_copies(buffer, copied, groups, apart))
    distance = 1024 if share >= 16 << 20 else 32
    steps = min(2 * TRIPS, share // 4 // distance - 1)
    chain = step.gpu.upload(np.arange(share // 4, dtype=np.int32) + distance)
    trips("loads that wait for each other", steps, lambda: kernels.round_trip_loads(chain, steps, distance), "record")


def launches(step):
    gpu, kernels = step.gpu, Kernels(step.gpu, step.bundle / "micro", "launch")
    for name, how in (("link", {}), ("dependentLink", {"dependent": True})):
        counters, times = kernels.buffer((2,), np.uint32), kernels.buffer((LINKS, 2), np.uint64)

        def chain(number, name=name, how=how, counters=counters, times=times):
            kernels.run(name, gpu.multiprocessors, 384, 0, counters, times, number, LINKS, **how)

        graph = gpu.capture([lambda number=number: chain(number) for number in range(LINKS)])
        gpu.synchronize()
        counters.write(np.zeros(2, np.uint32))
        gpu.seconds_of(graph.replay)
        seconds = gpu.seconds_of(graph.replay, step.sizes.replays) / LINKS
        gpu.synchronize()
        right = counters.read().tolist() == [(1 + step.sizes.replays) * LINKS] * 2
        found = times.read().astype(np.int64)
        between = found[1:, 0] - found[:-1, 1]
        what = "a launch of a graph, with nothing to do" + (", beginning before its predecessor has ended" if how else "")
        write(step, what, seconds, "s per launch", "gap", right, links=LINKS, **{"nanoseconds between": distribution(between)})


def stores(step):
    kernels, blocks = Kernels(step.gpu, step.bundle / "micro", "store"), step.gpu.multiprocessors
    rounds = max(2, step.sizes.micro >> 26)
    for name, columns, width, bytes_ in (("storeF32", 512, 256, 4), ("storeBf16", 384, 128, 2)):
        # Tiles that fill whole rows of the matrix; all of it stays in the L2 cache.
        tiles = blocks * (columns // width)
        times, right = kernels.store(name, tiles, rounds, columns)
        measured, more = rate(rounds * tiles // blocks * 128 * width * bytes_, times)
        write(step, f"results from registers to the L2 cache, {name}", measured, "bytes/s", "stored" if bytes_ == 4 else None, right, rounds=rounds, **more)


def costs(step):
    rounds = 256
    cycles, right = Kernels(step.gpu, step.bundle / "micro", "costs").costs(rounds)
    for what, measured in zip(("384 threads meet", "8 warps arrive at an mbarrier and wait", "a warpgroup gives registers back and gets them again"), cycles):
        write(step, what, float(measured), "cycles", None, right, rounds=rounds)


RUN = {"cache": cache, "memory": memory_rates, "round trips": round_trips, "launches": launches, "stores": stores, "costs": costs}


def run(step, part):
    RUN[part.name](step)


if __name__ == "__main__":
    main("micro", parts, run)
