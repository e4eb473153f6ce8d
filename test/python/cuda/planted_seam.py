"""The emulated GPU with faults in it: a seam (gpu_check/device) that tests name in place of the dry run's.

Settings besides those of gpu_check.device.dry: "marker", a file that a fault leaves when it happens, as each happens once; and one of
"hang" {"kernel"}: a launch of a kernel whose name begins so never returns;
"abort" {"kernel"}: its process dies in one;
"break" {"kernel"}: one fails, and the context with it;
"flip" {"kernel", "run", "slot"}: the launch of that number, from 0 in its process, flips one bit of what the kernel wrote to its parameter.
"""

import ctypes
import os
import time
from dataclasses import replace
from pathlib import Path

from gpu_check.cuda import CudaError
from gpu_check.device import dry
from gpu_check.device.dry import executable_flags  # noqa: F401: of the seam
from gpu_check.sizes import SMALL

SLOWNESS = 1  # what hangs is waited for
SIZES = replace(dry.SIZES, kernels=(), models={"small": SMALL["small"]}, tokens=(2, 1), points=(2,), steady={"small": (2,)})
DROWSE = 0.01  # seconds


class PlantedGpu(dry.DryGpu):
    def __init__(self, driver, settings):
        super().__init__(driver)
        self.settings, self.launched, self.broken = settings, 0, False

    def begins(self, what, kernel):
        """Whether the fault happens now; it does once, whichever process it is in."""
        marker = Path(self.settings["marker"])
        if what not in self.settings or not kernel.name.startswith(self.settings[what]["kernel"]) or marker.exists():
            return False
        marker.write_text(kernel.name)
        return True

    def run(self, kernel, grid, values):
        if self.begins("hang", kernel):
            while True:
                time.sleep(DROWSE)
        if self.begins("abort", kernel):
            os.abort()
        if self.begins("break", kernel):
            self.broken = True
        if self.broken:
            raise CudaError("an illegal memory access was encountered (700)")
        super().run(kernel, grid, values)
        flip = self.settings.get("flip")
        if flip and kernel.name.startswith(flip["kernel"]):
            if self.launched == flip["run"]:
                ctypes.c_uint8.from_address(values[flip["slot"]].value + 5).value ^= 4
            self.launched += 1

    def sound(self):
        return not self.broken and super().sound()


def open_device(bundle, settings):
    return PlantedGpu(dry.open_device(bundle, settings).driver, settings)
