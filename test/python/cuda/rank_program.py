"""Programs of several ranks on the emulated GPU: the launches of each rank, from the host function, run side by side."""

import ctypes
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from emitted import BUILD, host_compiler, tool

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from emulated import DEVICE, Emulator, aligned  # noqa: E402
from gpu_check.arrays import dtype_of, pack, poison  # noqa: E402
from gpu_check.hostprogram import read_functions  # noqa: E402
from gpu_check.kernels import read_kernels  # noqa: E402
from gpu_check.plan import Evaluation, Launch, View  # noqa: E402
from gpu_check.program import split_module  # noqa: E402

WINDOW = re.compile(r"!kernel\.window<((?:(?:\?|\d+)x)+)(\w+)>")
# Between windows, more than a planted fault runs past an end.
GAP = 1 << 16
PATIENCE = 10**9
BLOCKS = 2  # of a launch that does not say how many


class Waiting(Exception):
    """A rank is at a kernel.agree that the others have not come to."""

    def __init__(self, value):
        self.value = value


@dataclass(frozen=True)
class Window:
    name: str
    shape: tuple
    element: str

    @property
    def key(self):
        return f"{self.name} {'x'.join(map(str, self.shape))} {self.element}"


class RankEvaluation(Evaluation):
    """The launches of one rank; `agreed`: what all ranks have agreed on so far."""

    def __init__(self, function, sizes, rank, agreed):
        super().__init__(function, sizes)
        self.rank, self.agreed, self.windows, self.parts = rank, list(agreed), {}, {}
        self.blocks = []  # of each launch

    def evaluate(self, op, operands):
        if op.name == "kernel.rank":
            return [self.rank]
        if op.name == "kernel.agree":
            if not self.agreed:
                raise Waiting(operands[0])
            return [self.agreed.pop(0)]
        if op.name == "kernel.blocks":
            return [132]
        if op.name == "kernel.check":
            assert operands[0]
            return []
        if op.name == "kernel.window":
            sizes, element = WINDOW.fullmatch(op.result_types[0]).groups()
            dynamic = iter(operands)
            shape = tuple(next(dynamic) if size == "?" else int(size) for size in sizes.split("x")[:-1])
            window = Window(op.attribute("name", r'"([^"]+)"'), shape, element)
            self.windows[window.key] = window
            return [window]
        if op.name == "kernel.part":
            (window,) = operands
            if window.key not in self.parts:
                self.parts[window.key] = self.buffer("window", window.key, window.element, window.shape)
            return [self.parts[window.key]]
        return super().evaluate(op, operands)

    def launch(self, op, operands):
        plain = [operand for operand in operands if not isinstance(operand, Window)]
        kinds = [kind for kind, operand in zip(op.operand_types, operands) if not isinstance(operand, Window)]
        whole, op.operand_types = op.operand_types, kinds
        super().launch(op, plain)
        op.operand_types = whole
        self.blocks.append(1 if self.plan.launches[-1].single else int(op.attribute("blocks", r"(\d+)") or BLOCKS))
        arguments = iter(self.plan.launches[-1].arguments)
        self.plan.launches[-1].arguments = [
            {"window": operand.key, "sizes": [size for size, _ in zip(operand.shape, re.findall(r"<\?", kind))]} if isinstance(operand, Window) else next(arguments)
            for kind, operand in list(zip(op.operand_types, operands))[:-2]
        ]  # fmt: skip
        return []


def evaluate_ranks(function, sizes):
    """The evaluations of all ranks; `sizes`: of each rank, the shapes of its inputs."""
    agreed = []
    while True:
        ranks, waiting = [], []
        for rank, shapes in enumerate(sizes):
            ranks.append(RankEvaluation(function, shapes, rank, agreed))
            try:
                ranks[-1].plan.outputs = [view.buffer for view in ranks[-1].run(function.operations)]
            except Waiting as wait:
                waiting.append(wait.value)
        if not waiting:
            return ranks
        assert len(waiting) == len(sizes), "ranks disagree about what they agree on"
        agreed.append(max(waiting))


class Peers(ctypes.Structure):
    """moert_peers."""

    _fields_ = [
        ("base", ctypes.c_void_p), ("rank", ctypes.c_int32), ("ranks", ctypes.c_int32), ("epoch", ctypes.c_void_p),
        ("abort", ctypes.c_void_p), ("status", ctypes.c_void_p), ("patience", ctypes.c_int64),
    ]  # fmt: skip


def part_of(rows, rank, ranks):
    """Elements of dimension 0 that a rank has of `rows`."""
    return slice(rank * rows // ranks, (rank + 1) * rows // ranks)


def own_part(weight, recipe, rank, ranks):
    """A parameter as a rank's program has it, and the rest of its recipe."""
    if shard := re.search(r"#moe\.shard<dim = (\d)[^>]*>(?:, )?", recipe):
        dim = int(shard[1])
        halves = np.split(weight, 2, dim) if "halves = true" in shard[0] else [weight]
        weight = np.concatenate([np.split(half, ranks, dim)[rank] for half in halves], dim)
        recipe = recipe.replace(shard[0], "")
    if once := re.search(r"#moe\.once<[^>]*>(?:, )?", recipe):
        weight = weight if rank == 0 else np.zeros_like(weight)
        recipe = recipe.replace(once[0], "")
    return pack(weight, recipe if "#moe." in recipe else "")


class RankedProgram:
    """A program of `ranks` ranks from its kernel level. `change` may change the text, `device` is the device library."""

    def __init__(self, level, ranks, folder, change=lambda text: text, device=DEVICE):
        self.ranks = ranks
        host, kernels = split_module(tool("moe-opt", "--mlir-print-op-generic", text=level))
        (self.function,) = read_functions(host).values()
        self.text = tool("moe-translate", "--kernel-to-cuda", text=level)
        self.kernels = read_kernels(self.text, tool("moe-opt", "--kernel-to-emitc", text=kernels))
        self.emulator = Emulator(BUILD / "runtime" / "emulation" / "libmoe_emulation.so", host_compiler())
        changed = change(self.text)
        library = self.emulator.build(changed, folder, device, warnings=("-w",))
        self.functions = self.emulator.load(library, self.emulator.names(changed))
        self.library = ctypes.CDLL(str(library))  # the same that has the functions

    def run(self, inputs, weights, split, edit=lambda launches: launches, shrink=(), epoch=0, patience=PATIENCE, **schedule):
        """(the rule that was broken or "", each rank's first output, status words). `inputs` are whole, and divided if `split`; `edit` may change the
        launches of a rank; windows named in `shrink` have half of what the program thinks."""
        parts = [{name: a[part_of(len(a), r, self.ranks)] if split else a for name, a in inputs.items()} for r in range(self.ranks)]
        evaluations = evaluate_ranks(self.function, [{name: a.shape for name, a in part.items()} for part in parts])
        job = Job(self, evaluations, parts, weights, shrink, epoch, patience)
        launches = [edit([job.step(rank, launch, blocks) for launch, blocks in zip(e.plan.launches, e.blocks)]) for rank, e in enumerate(evaluations)]
        fault = self.emulator.launch_ranks(launches, job.registered, job.windows, **schedule)
        self.outputs = [[job.buffers[rank][i] for i in e.plan.outputs] for rank, e in enumerate(evaluations)]
        self.late = [int(words[3]) - 1 for words in job.words]  # flags of the first waits in vain, -1: none
        return fault, [outputs[0] for outputs in self.outputs], [int(words[2]) for words in job.words]

    def output(self, rank, number):
        """Of the last run."""
        return self.outputs[rank][number]


class Job:
    """The memory of all ranks."""

    def __init__(self, program, evaluations, inputs, weights, shrink, epoch, patience):
        self.program, self.registered, self.windows = program, {}, set()
        self.offsets, size = {}, GAP
        for key, window in evaluations[0].windows.items():
            self.offsets[key] = size
            size += -(-int(np.prod(window.shape)) * dtype_of(window.element).itemsize // 1024) * 1024 + GAP
        ranks = range(program.ranks)
        self.memory = [aligned(size, np.uint8) for _ in ranks]
        self.words = [aligned(4, np.uint32) for _ in ranks]
        for words in self.words:
            words[0] = epoch
        self.base = self.register("base", aligned(program.ranks, np.uint64, [memory.ctypes.data for memory in self.memory]))
        self.peers, self.buffers = [], []
        for rank in ranks:
            for name, words in {"epoch": slice(1), "abort": slice(1, 2), "status": slice(2, 4)}.items():
                self.register(f"{name} of rank {rank}", self.words[rank][words])
            self.peers.append(self.register(f"peers of rank {rank}", aligned(ctypes.sizeof(Peers), np.uint8)))
            at = self.words[rank].ctypes.data
            described = Peers(self.base.ctypes.data, rank, program.ranks, at, at + 4, at + 8, patience)
            self.peers[rank][...] = np.frombuffer(described, np.uint8)
            parts = {key: self.window(rank, window, epoch, key.split(" ")[0] in shrink) for key, window in evaluations[rank].windows.items()}
            self.buffers.append([self.buffer(rank, i, buffer, inputs[rank], weights, parts) for i, buffer in enumerate(evaluations[rank].plan.buffers)])

    def register(self, name, array):
        self.registered[name] = array
        return array

    def window(self, rank, window, epoch, shrunk):
        """A rank's part. Flags hold the last exchange; the rest is what nobody has put."""
        dtype = dtype_of(window.element)
        size = int(np.prod(window.shape)) * dtype.itemsize
        part = self.memory[rank][self.offsets[window.key] :][:size].view(dtype).reshape(window.shape)
        is_flags = window.element == "i32" and len(window.shape) == 1
        part[...] = np.uint32(epoch).astype(np.int32) if is_flags else poison(window.element)
        name = f"{window.name} of rank {rank}"
        while name in self.registered:
            name += "'"
        self.windows.add(name)
        self.register(name, part[: len(part) // 2] if shrunk else part)
        return part

    def buffer(self, rank, number, buffer, inputs, weights, parts):
        if buffer.role == "window":
            return parts[buffer.name]
        if buffer.role == "input":
            array, name = inputs[buffer.name], buffer.name
        elif buffer.role == "parameter":
            array, name = own_part(weights[buffer.name], buffer.recipe, rank, self.program.ranks), buffer.name
        else:
            dtype = dtype_of(buffer.element)
            return self.register(f"buffer {number} of rank {rank}", aligned(tuple(buffer.shape), dtype, poison(buffer.element)))
        assert list(array.shape) == buffer.shape, f"{name} is {array.shape}, not {buffer.shape}"
        memory = aligned(array.shape, array.dtype, array)
        memory.flags.writeable = False
        return self.register(f"{name} {number} of rank {rank}", memory)

    def step(self, rank, launch: Launch, blocks):
        """A launch as Emulator.launch_ranks takes it."""
        kernel, slots = self.program.kernels[launch.kernel], []
        for argument in launch.arguments:
            if "window" in argument:
                slots += [self.peers[rank], self.offsets[argument["window"]], *argument["sizes"]]
            elif "buffer" in argument:
                slots += [self.buffers[rank][argument["buffer"]], *argument["sizes"]]
            else:
                slots.append(argument["value"])
        maps = []
        for m in kernel.maps:
            rows, columns = m.with_rows(slots)
            maps.append(self.program.emulator.tensor_map(slots[m.slot].reshape(rows, columns), m.box, m.swizzle))
        values = [ctypes.c_int64(int(a)) if isinstance(a, (int, np.integer)) else a for a in slots + maps]
        return launch.kernel, self.program.functions[launch.kernel], values, blocks, kernel.threads, kernel.shared
