"""What the steps need of a device, and nothing else: a `Gpu`.

There are two: device/real.py, a GPU by the driver and PyTorch, and device/dry.py, an emulated GPU behind the same functions of the driver, with
PyTorch on the CPU. A step never asks which one it has. A module with `SIZES`, `SLOWNESS`, `executable_flags(seconds)` and
`open_device(bundle, settings)` is a seam; it is named on the command line of a step, with settings in JSON:
`--seam gpu_check.device.dry:{"library": ...}`.
"""

import importlib
import json

REAL = "gpu_check.device.real"


def seam_of(text):
    """(module, settings) of the argument `--seam`."""
    module, _, settings = text.partition(":")
    return importlib.import_module(module), json.loads(settings or "{}")
