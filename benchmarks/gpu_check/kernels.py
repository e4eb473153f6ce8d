"""What a launch of a kernel needs besides its arguments, as the compiler says it."""

import re
from dataclasses import dataclass, field

TEXT = re.compile(r'^extern "C" __global__ (?:__launch_bounds__\([^)]*\) )?void (\w+)\(')
FUNCTION = re.compile(r"^\s*emitc\.func @(\w+)\(.*?attributes \{(.*)\} \{$", re.M)


@dataclass
class Map:
    """A matrix of [rows, columns] at the pointer in a slot, for TMA, in boxes of [rows, columns]."""

    slot: int
    rows: int  # or -(1 + s): the value of slot s
    columns: int
    box: list
    swizzle: int  # bytes

    def with_rows(self, slots):
        """(rows, columns) of a launch."""
        return (self.rows if self.rows >= 0 else slots[-1 - self.rows]), self.columns


@dataclass
class Kernel:
    name: str
    text: str
    threads: int
    shared: int
    blocks_per_sm: int
    maps: list = field(default_factory=list)


def number(attributes, name):
    return int(re.search(rf"\b{re.escape(name)} = (-?\d+)", attributes)[1])


def read_maps(attributes):
    match = re.search(r"cuda\.maps = \[(\{.*?\}(?:, \{.*?\})*)\]", attributes)
    for entry in re.findall(r"\{(.*?)\}", match[1]) if match else []:
        box = [int(size) for size in re.search(r"box = \[(\d+), (\d+)\]", entry).groups()]
        rest = entry[: entry.index("box")] + entry[entry.index("]") :]
        yield Map(number(rest, "slot"), number(rest, "rows"), number(rest, "columns"), box, number(rest, "swizzle"))


def read_kernels(text, module):
    """The kernels of a text by name; `module`: the same kernels as emitc functions, whose attributes say how they are launched."""
    head, *parts = re.split(r'(?=^extern "C" __global__)', text, flags=re.M)
    texts = {TEXT.match(part)[1]: head + part for part in parts}
    kernels = {}
    for name, attributes in FUNCTION.findall(module):
        sizes = [number(attributes, f"cuda.{what}") for what in ("threads", "shared", "blocks_per_sm")]
        kernels[name] = Kernel(name, texts[name], *sizes, list(read_maps(attributes)))
    return kernels
