"""The launches of one call: a host function evaluated for given sizes of its inputs.

    plan = make_plan(function, {"x": (7, 96)})

A plan is plain data (JSON): buffers with types and shapes, and launches whose arguments are buffers with their dynamic sizes, or numbers.
"""

import operator
import re
from dataclasses import asdict, dataclass, field

from .hostprogram import DYNAMIC, Unsupported, memref_type


@dataclass
class Buffer:
    role: str  # "input", "parameter", "scratch" or "output"
    name: str
    element: str  # as MLIR writes it
    shape: list
    recipe: str = ""  # of a parameter


@dataclass
class Launch:
    kernel: str
    single: bool  # one block, else as many as the device takes
    arguments: list  # {"buffer": index, "sizes": [dynamic ones]} or {"value": number}
    rows: int
    work: int


@dataclass
class Plan:
    buffers: list = field(default_factory=list)
    launches: list = field(default_factory=list)
    outputs: list = field(default_factory=list)  # indices of buffers

    def to_json(self):
        return asdict(self)

    @staticmethod
    def from_json(data):
        return Plan([Buffer(**b) for b in data["buffers"]], [Launch(**x) for x in data["launches"]], data["outputs"])


@dataclass(frozen=True)
class View:
    """A buffer as a value of the program sees it."""

    buffer: int
    shape: tuple


def divide_up(a, b):
    return -(-a // b)


# Sizes are never negative, so signed and unsigned forms agree.
ARITHMETIC = {
    "addi": operator.add, "subi": operator.sub, "muli": operator.mul,
    "divsi": operator.floordiv, "divui": operator.floordiv, "floordivsi": operator.floordiv,
    "ceildivsi": divide_up, "ceildivui": divide_up, "remsi": operator.mod, "remui": operator.mod,
    "minsi": min, "minui": min, "maxsi": max, "maxui": max,
    "andi": operator.and_, "ori": operator.or_, "xori": operator.xor,
}  # fmt: skip
COMPARISONS = [operator.eq, operator.ne, *[operator.lt, operator.le, operator.gt, operator.ge] * 2]
VIEWS = {"memref.cast", "memref.collapse_shape", "memref.expand_shape"}


class Evaluation:
    def __init__(self, function, sizes):
        self.function, self.plan, self.values = function, Plan(), {}
        names = re.findall(r'moe\.name = "([^"]+)"', function.attributes.split("res_attrs")[0])
        for i, (value, kind) in enumerate(function.arguments):
            name = names[i] if i < len(names) else f"arg{i}"
            shape, element = memref_type(kind)
            given = tuple(sizes[name])
            if len(given) != len(shape) or any(s not in (DYNAMIC, g) for s, g in zip(shape, given)):
                raise Unsupported(f"input '{name}' of shape {given} for {kind}")
            self.values[value] = self.buffer("input", name, element, given)

    def buffer(self, role, name, element, shape, recipe=""):
        self.plan.buffers.append(Buffer(role, name, element, list(shape), recipe))
        return View(len(self.plan.buffers) - 1, tuple(shape))

    def run(self, operations):
        """Returns the operands of the terminator."""
        for op in operations:
            operands = [self.values[name] for name in op.operands]
            if op.name in ("func.return", "scf.yield"):
                return operands
            results = self.evaluate(op, operands)
            self.values.update(zip(op.results, results))
        return []

    def evaluate(self, op, operands):
        dialect, _, name = op.name.partition(".")
        if dialect == "arith":
            return [self.arithmetic(op, name, operands)]
        if op.name == "memref.dim":
            return [operands[0].shape[operands[1]]]
        if op.name == "memref.alloc":
            shape, element = memref_type(op.result_types[0])
            dynamic = iter(operands)
            return [self.buffer("scratch", "", element, [next(dynamic) if s == DYNAMIC else s for s in shape])]
        if op.name == "moe.parameter":
            shape, element = memref_type(op.result_types[0])
            recipe = op.attribute("recipe", r"(\[.*?\])(?:, \w+ =|\})") or ""
            return [self.buffer("parameter", op.attribute("sources", r"\[(.*?)\]").strip('"'), element, shape, recipe)]
        if op.name in VIEWS:
            return [self.view(op, operands)]
        if op.name == "kernel.launch":
            return self.launch(op, operands)
        if op.name == "scf.for" and not op.results:
            for value in range(*operands):
                self.values[op.arguments[0]] = value
                self.run(op.regions[0])
            return []
        if op.name == "scf.if":
            return self.run(op.regions[0 if operands[0] else 1]) if op.regions[0 if operands[0] else 1] else []
        raise Unsupported(f"the operation '{op.name}' in a host function")

    def arithmetic(self, op, name, operands):
        if name == "constant":
            value = op.attribute("value", r"(-?\d+|true|false)\b")
            return {"true": 1, "false": 0}.get(value) if value in ("true", "false") else int(value)
        if name == "cmpi":
            return int(COMPARISONS[int(op.attribute("predicate", r"(\d+)"))](*operands))
        if name == "select":
            return operands[1] if operands[0] else operands[2]
        if name in ("index_cast", "index_castui", "extui", "extsi", "trunci"):
            return operands[0]
        if name not in ARITHMETIC:
            raise Unsupported(f"the operation '{op.name}' in a host function")
        return ARITHMETIC[name](*operands)

    def view(self, op, operands):
        """The same elements with other sizes; at most one of them is not known from the type or an operand."""
        shape, _ = memref_type(op.result_types[0])
        source, *given = operands
        if op.name == "memref.cast":
            return source
        elements = 1
        for size in source.shape:
            elements *= size
        given = iter(given)
        sizes = [next(given, DYNAMIC) if s == DYNAMIC else s for s in shape]
        if sizes.count(DYNAMIC) == 1:
            known = 1
            for size in sizes:
                known *= size if size != DYNAMIC else 1
            sizes[sizes.index(DYNAMIC)] = elements // max(known, 1)
        return View(source.buffer, tuple(sizes))

    def launch(self, op, operands):
        arguments = []
        *data, rows, work = zip(op.operand_types, operands)
        for kind, value in data:
            if isinstance(value, View):
                shape, _ = memref_type(kind)
                dynamic = [size for size, declared in zip(value.shape, shape) if declared == DYNAMIC]
                arguments.append({"buffer": value.buffer, "sizes": dynamic})
            else:
                arguments.append({"value": value})
        kernel = op.attribute("kernel", r"@([\w.$-]+)")
        single = re.search(r"\bsingle\b", op.attributes.split(">}")[0]) is not None
        self.plan.launches.append(Launch(kernel, single, arguments, rows[1], work[1]))
        return []


def make_plan(function, sizes):
    """`sizes`: the shape of each input by name."""
    evaluation = Evaluation(function, sizes)
    for view in evaluation.run(function.operations):
        evaluation.plan.outputs.append(view.buffer)
        if evaluation.plan.buffers[view.buffer].role == "scratch":
            evaluation.plan.buffers[view.buffer].role = "output"
    return evaluation.plan
