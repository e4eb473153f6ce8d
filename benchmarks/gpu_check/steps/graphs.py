"""(c) A layer captured once as a CUDA graph and replayed with other routings in place, against launches one by one."""

import ctypes

import numpy as np

from ..arrays import to_bits
from ..cases import NUMERICS, fractions, name_of, weights_of
from ..execution import Execution
from ..program import Program
from ..stepping import Part, main

PROGRAM = name_of(*NUMERICS[0])
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class Graph:
    """The launches of an execution as a CUDA graph."""

    def __init__(self, run):
        self.driver, self.stream = run.device.driver, ctypes.c_void_p()
        graph, self.executable, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        self.driver.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.driver.call("cuStreamBeginCapture_v2", self.stream, RELAXED)
        for launch in run.plan.launches:
            run.launch(launch, stream=self.stream.value)
        self.driver.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.driver.call("cuGraphGetNodes", graph, None, ctypes.byref(count))
        self.driver.call("cuGraphInstantiateWithFlags", ctypes.byref(self.executable), graph, ctypes.c_uint64(0))
        self.nodes = count.value

    def replay(self):
        self.driver.call("cuGraphLaunch", self.executable, self.stream)
        self.driver.call("cuStreamSynchronize", self.stream)


def parts(bundle, sizes):
    yield Part("replays", {"tokens": sizes.graph_tokens, "replays": sizes.replays}, seconds=20)


def run(step, part):
    tokens, replays = part.arguments.values()
    program = Program.load(step.bundle / "programs" / PROGRAM)
    step.gpu.load(program)
    layer, random = program.layer, np.random.default_rng(1)
    weights = {name: to_bits(a, "bf16") for name, a in weights_of(layer, random, fractions).items()}
    xs = [to_bits(fractions(random, (tokens, layer.H)) * layer.H**0.5, "bf16") for _ in range(replays)]
    plan = program.plan(tokens)
    execution = Execution(step.gpu, plan, program.kernels, {"x": xs[0]}, weights)
    (given,) = [i for i, buffer in enumerate(plan.buffers) if buffer.role == "input"]

    def results(call):
        for x in xs:
            execution.buffers[given].write(x)
            call()
            yield execution.read(plan.outputs[0])

    eager = list(results(execution.run))
    graph = Graph(execution)
    different = sum(not np.array_equal(a, b) for a, b in zip(eager, results(graph.replay)))
    step.write(
        "replays", program=program.name, tokens=tokens, replays=replays, nodes=graph.nodes, launches=len(plan.launches),
        distinct=len({y.tobytes() for y in eager}), different=different, passed=different == 0,
    )  # fmt: skip


if __name__ == "__main__":
    main("graphs", parts, run)
