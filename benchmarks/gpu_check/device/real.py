"""A GPU by the driver's libcuda and by PyTorch, in one primary context."""

import ctypes
import statistics

from ..cuda import L2_BYTES, CudaDevice, CudaError, Driver
from ..sizes import REAL as SIZES  # noqa: F401: of the seam

SLOWNESS = 1  # how many times as long as on a GPU a part may take
PER_GRAPH = 0.002  # seconds of calls that a measured graph holds
MOST_CALLS = 50  # in it
SAMPLES = 5


class Gpu(CudaDevice):
    """Memory, programs and launches are those of CudaDevice; this adds PyTorch's tensors as operands, capture, and time."""

    torch_device = "cuda"
    # What there is besides launches: a peer that needs more is left out.
    features = frozenset({"triton"})

    def __init__(self, driver=None):
        self.start()
        super().__init__(driver)
        self.l2_bytes = self.driver.attribute(L2_BYTES)

    def start(self):
        """PyTorch first, where there is one: it makes the primary context."""
        try:
            import torch
        except ImportError:
            return
        if torch.cuda.is_available():
            torch.cuda.init()

    def describe(self):
        """What results say of the device."""
        import torch

        return {
            "name": self.driver.name(), "multiprocessors": self.multiprocessors, "capability": ".".join(map(str, self.driver.capability())),
            "driver": self.driver.version(), "torch": torch.__version__, "cuda": torch.version.cuda,
        }  # fmt: skip

    def address(self, tensor):
        """Of a tensor's first element, as launches take it."""
        return tensor.data_ptr()

    def stream(self):
        """The current stream, as `launch` takes it: the one that `capture` captures."""
        import torch

        return torch.cuda.current_stream().cuda_stream

    def run(self, kernel, grid, values):
        """A launch of a kernel of a loaded program into the current stream; `values`: ctypes values or NumPy bytes, one per parameter."""
        self.driver.launch(self.functions[id(kernel)], grid, kernel.threads, kernel.shared, values, self.stream())

    def own_stream(self):
        """A stream for a session, which `capture` can capture."""
        import torch

        return torch.cuda.Stream()

    def session_options(self, stream):
        """Of a session whose inputs and outputs are tensors of `torch_device`."""
        return {"stream": stream.cuda_stream, "device_values": 1}

    def bytes_at(self, address, size):
        import numpy as np

        data = np.empty(size, np.uint8)
        self.driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data

    def synchronize(self):
        """Waits for all streams; raises what went wrong in them."""
        self.driver.synchronize()

    def free_unused(self):
        """Memory that PyTorch keeps though no tensor has it."""
        import torch

        torch.cuda.empty_cache()

    def sound(self):
        """Whether the context still works; after a fault inside a kernel it does not, for the rest of the process."""
        try:
            self.synchronize()
            return bool((self.upload_ones() == 1).all())
        except CudaError:
            return False

    def upload_ones(self):
        import numpy as np

        return self.download(self.upload(np.ones(64, np.int32)))

    def capture(self, calls, stream=None):
        """A CUDA graph of the calls in their order, into `stream` or one of its own; `replay()` of what is returned runs them. Each is called before,
        outside of the graph."""
        import torch

        graph, stream = torch.cuda.CUDAGraph(), stream or torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for call in (calls[0], *calls):
                call()
            self.synchronize()
            # Not `torch.cuda.graph`, which collects garbage and empties the allocator first: there are hundreds of captures in a step.
            graph.capture_begin(capture_error_mode="relaxed")
            try:
                for call in calls:
                    call()
            finally:
                graph.capture_end()
        return graph

    def count_launches(self, call):
        """Nodes of a captured call; None where PyTorch does not give its graph away."""
        import torch

        try:
            graph = torch.cuda.CUDAGraph(keep_graph=True)
            with torch.cuda.graph(graph):
                call()
            count = ctypes.c_size_t()
            self.driver.call("cuGraphGetNodes", ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(count))
            return count.value
        except (RuntimeError, TypeError, AttributeError):
            return None

    def seconds_of(self, run, repeats=1, stream=None):
        """Of one `run()`, by events around `repeats` of them in the current stream, or in `stream`."""
        import torch

        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record(stream)
        for _ in range(repeats):
            run()
        end.record(stream)
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / repeats

    def time(self, call, least, stream=None):
        """{"median", "samples", "calls"}: seconds of a call, repeated in CUDA graphs for `least` seconds or longer; `call` can be captured, in `stream`."""
        call()
        self.synchronize()
        once = max(self.seconds_of(call, 1, stream), 1e-6)
        count = max(1, min(MOST_CALLS, int(PER_GRAPH / once)))
        graph = self.capture([call] * count, stream)
        once = max(self.seconds_of(graph.replay) / count, 1e-7)
        replays = max(1, -(-int(least / once) // (count * SAMPLES)))
        samples = [self.seconds_of(graph.replay, replays) / count for _ in range(SAMPLES)]
        return {"median": statistics.median(samples), "samples": samples, "calls": count * replays * SAMPLES}


def executable_flags(seconds):
    """Of a compiler's executable; a kernel that hangs is named by the program, before the step has to end it."""
    return "--deadline", max(1, int(seconds) - 3)


def open_device(bundle, settings):
    return Gpu(Driver())
