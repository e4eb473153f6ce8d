"""What a launch of a kernel needs besides its arguments, as the compiler says it."""

import re
from dataclasses import dataclass, field

SIGNATURE = re.compile(r'extern "C" __global__ (?:__launch_bounds__\([^)]*\) )?void (\w+)\(([^\n]*)\) \{\n(?:  // Launch: (\d+) threads, (\d+) bytes)?')
MATH = re.compile(r"\bmoe::(exp|log|tanh|erf|sin|cos|sqrt|rsqrt)\(")


@dataclass
class Map:
    """A matrix of [rows, columns] at the pointer of an argument, for TMA, in boxes of [rows, columns]."""

    argument: int
    rows: int
    columns: int
    box: list
    swizzle: int  # bytes


@dataclass
class Kernel:
    name: str
    text: str
    threads: int = 64
    shared: int = 0
    blocks_per_sm: int = 1
    maps: list = field(default_factory=list)


def read_kernels(text, plan):
    """The kernels of a text by name; `plan` says which arguments are weights."""
    head, *parts = re.split(r'(?=^extern "C" __global__)', text, flags=re.M)
    kernels = {}
    for part in parts:
        name, parameters, threads, shared = SIGNATURE.match(part).groups()
        kernel = Kernel(name, head + part, int(threads or 64), int(shared or 0))
        launch = next((launch for launch in plan.launches if launch.kernel == name), None)
        for i, argument in enumerate(launch.arguments if launch and "CUtensorMap" in parameters else []):
            buffer = plan.buffers[argument["buffer"]] if "buffer" in argument else None
            if buffer and buffer.role == "parameter" and len(buffer.shape) >= 4:
                rows, columns = 1, buffer.shape[-1]
                for size in buffer.shape[:-1]:
                    rows *= size
                kernel.maps.append(Map(i, rows, columns, buffer.shape[-2:], 128))
        kernels[name] = kernel
    return kernels
