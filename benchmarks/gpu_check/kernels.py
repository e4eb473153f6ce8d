"""What a launch of a kernel needs besides its arguments, as the compiler says it."""

import re
from dataclasses import dataclass, field, replace

SIGNATURE = re.compile(r'extern "C" __global__ (?:__launch_bounds__\([^)]*\) )?void (\w+)\(([^\n]*)\) \{\n(?:  // Launch: (\d+) threads, (\d+) bytes[^\n]*\n)?((?:  // Map[^\n]*\n)*)')
MAP = re.compile(r"// Map \w+: argument (\d+) as (argument )?(\d+) x (\d+), boxes of (\d+) rows")
MATH = re.compile(r"\bmoe::(exp|log|tanh|erf|sin|cos|sqrt|rsqrt)\(")


@dataclass
class Map:
    """A matrix of [rows, columns] at the pointer in a slot, for TMA, in boxes of [rows, columns]."""

    slot: int
    rows: int  # or -(1 + s): the value of slot s
    columns: int
    box: list
    swizzle: int  # bytes

    def with_rows(self, slots):
        """The same with the number of rows that a launch has."""
        return self if self.rows >= 0 else replace(self, rows=slots[-1 - self.rows])


@dataclass
class Kernel:
    name: str
    text: str
    threads: int = 64
    shared: int = 0
    blocks_per_sm: int = 1
    maps: list = field(default_factory=list)


def read_kernels(text):
    """The kernels of a text by name."""
    head, *parts = re.split(r'(?=^extern "C" __global__)', text, flags=re.M)
    kernels = {}
    for part in parts:
        name, _, threads, shared, maps = SIGNATURE.match(part).groups()
        kernel = Kernel(name, head + part, int(threads or 64), int(shared or 0))
        for slot, size, rows, columns, box in MAP.findall(maps):
            rows = -1 - int(rows) if size else int(rows)
            kernel.maps.append(Map(int(slot), rows, int(columns), [int(box), 64], 128))
        kernels[name] = kernel
    return kernels
