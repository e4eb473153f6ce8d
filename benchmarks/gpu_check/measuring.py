"""Times on a GPU: calls captured as CUDA graphs, in turns, and the device's own floor."""

import ctypes
import statistics

import torch

TURN = 0.02  # seconds
ROUNDS = 5


def capture(call, xs):
    """A graph of one call per input, in their order."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for x in (xs[0], *xs):
            call(x)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for x in xs:
            call(x)
    return graph


def seconds_of(run, repeats):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


def in_turns(graphs, calls):
    """{side: seconds per call in each round}; the order alternates. `calls`: of a replay."""
    repeats = {}
    for side, graph in graphs.items():
        seconds_of(graph.replay, 1)
        repeats[side] = max(1, min(500, int(TURN / seconds_of(graph.replay, 1))))
    samples = {side: [] for side in graphs}
    for number in range(ROUNDS):
        for side in list(graphs)[:: 1 if number % 2 == 0 else -1]:
            samples[side].append(seconds_of(graphs[side].replay, repeats[side]) / calls)
    return samples


def count_launches(driver, call, x):
    """Nodes of a captured call; None where PyTorch does not give its graph away."""
    try:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            call(x)
        count = ctypes.c_size_t()
        driver.call("cuGraphGetNodes", ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(count))
        return count.value
    except (RuntimeError, TypeError, AttributeError):
        return None


def measure_floor():
    """What this device reaches now: bytes per second of a read and of a copy, operations per second of a large product."""
    size = 1 << 30
    a = torch.randn(size, device="cuda", dtype=torch.bfloat16)
    b = torch.empty_like(a)
    words = a.view(torch.int32)
    for call in (lambda: words.amax(), lambda: b.copy_(a)):
        call()
    read = a.nbytes / statistics.median(seconds_of(words.amax, 5) for _ in range(5))
    copy = 2 * a.nbytes / statistics.median(seconds_of(lambda: b.copy_(a), 5) for _ in range(5))
    del a, b, words
    n = 8192
    p, q = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    seconds_of(lambda: p @ q, 3)
    product = 2 * n**3 / statistics.median(seconds_of(lambda: p @ q, 5) for _ in range(5))
    return {"read bytes/s": read, "copy bytes/s": copy, "product operations/s": product}
