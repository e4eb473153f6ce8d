"""What the compiler's cost model assumes of the H200, from its own report of a layer: made when the bundle is made, so that a measurement stands beside
the number that it checks. Times and rates are those of one multiprocessor where nothing else is said.
"""

import json
import math

from .cases import MODELS
from .compiling import report_of

MODEL, POINT = "Qwen3-30B-A3B", "size 8192"


def constants_of(build):
    """{key: {"constant": where it stands, "value", "unit"}}. A term of an estimate is amount / constant, and the amounts are known."""
    layer = MODELS[MODEL]
    report = report_of(build, layer)
    device, described = report["device"], report["layers"]
    launches = {launch["kernel"]: launch["gpu"] for each in described for launch in each["launches"]}
    (down,) = [gpu for name, gpu in launches.items() if name.startswith("experts_down")]
    terms, (rows, columns) = down["terms"][POINT], down["tile"]
    flops = device["limited_tensor_flops_per_second"] / device["multiprocessors"]
    steps = terms["tensor cores"] * flops / (2 * rows * columns * 64)  # of the multiprocessor that takes longest
    tiles = steps / math.ceil(layer.I / 64)
    totals = report["totals"][POINT]
    gaps = totals["estimate_seconds"] - sum(gpu["estimate_seconds"][POINT] for gpu in launches.values())
    found = {
        "cache": ("cacheBytes (CudaDevices.cpp) at the boost clock", steps * (rows + columns) * 128 / terms["L2"], "bytes/s"),
        "stored": ("kStoredBytes (CudaCost.cpp) at the limited clock", tiles * rows * columns * 4 / terms["epilogue"], "bytes/s"),
        "record": ("kRecord (CudaCost.cpp): a record of the tile list", terms["tile list"] / layer.E, "s"),
        "reachable": ("reachableBytesPerSecond (CudaDevices.cpp), of the device", device["reachable_bytes_per_second"], "bytes/s"),
        "gap": ("none: an estimate of a layer is the sum of its launches'", round(gaps, 12) + 0.0, "s per launch"),
        "flight": ("none: loads are hidden if so many bytes on their way cover them", (down["stages"] - 1) * (rows + columns) * 128, "bytes"),
    }  # fmt: skip
    return {key: dict(zip(("constant", "value", "unit"), entry)) for key, entry in found.items()}


def write_constants(path, build):
    path.write_text(json.dumps(constants_of(build), indent=1) + "\n")

