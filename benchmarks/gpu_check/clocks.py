"""Clocks, power, temperature and throttle reasons of the device, ten times a second while the steps run.

By NVML's library, or by nvidia-smi where that is missing. The process that samples makes no context, so a fault of the device does not reach it.
"""

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import threading
import time

PERIOD = 0.1  # seconds
SM, MEMORY, CELSIUS = 1, 2, 0  # nvmlClockType_t, nvmlTemperatureSensors_t
# nvmlClocksThrottleReasons
REASONS = {
    0x1: "idle", 0x2: "clocks set by an application", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost", 0x20: "software thermal",
    0x40: "hardware thermal", 0x80: "hardware power brake", 0x100: "display",
}  # fmt: skip
MASKS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")  # the second in older drivers
FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_event_reasons.active")
NAMES = ("sm MHz", "memory MHz", "watts", "celsius", "reasons")


def reasons(mask):
    return [name for bit, name in REASONS.items() if mask & bit]


class Nvml:
    """libnvidia-ml.so.1 by ctypes; OSError where it or the device is missing."""

    name = "NVML"

    def __init__(self, library=None):
        self.library = library or ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
        found = self.library.nvmlInit_v2()
        if not found and first.startswith("GPU-"):
            found = self.library.nvmlDeviceGetHandleByUUID(first.encode(), ctypes.byref(self.device))
        elif not found:
            found = self.library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(first) if first.isdigit() else 0), ctypes.byref(self.device))
        if found:
            raise OSError(f"NVML's code {found}")

    def number(self, function, *arguments, kind=ctypes.c_uint):
        """What a function gives, or None where the device does not tell or the library has no such function."""
        value, called = kind(), getattr(self.library, function, None)
        return None if called is None or called(self.device, *arguments, ctypes.byref(value)) else value.value

    def sample(self):
        power, mask = self.number("nvmlDeviceGetPowerUsage"), None
        for function in MASKS:
            mask = self.number(function, kind=ctypes.c_ulonglong) if mask is None else mask
        values = [self.number("nvmlDeviceGetClockInfo", kind) for kind in (SM, MEMORY)]
        values += [power / 1e3 if power is not None else None, self.number("nvmlDeviceGetTemperature", CELSIUS)]
        return dict(zip(NAMES, [*values, reasons(mask) if mask is not None else None]))

    def samples(self, ended):
        while not ended.wait(PERIOD):
            yield self.sample()

    def stop(self):
        """`samples` ends by itself."""


class Smi:
    """nvidia-smi, which prints a line each period; OSError where it is missing."""

    name = "nvidia-smi"

    def __init__(self, program=None):
        program = program or shutil.which("nvidia-smi")
        if program is None:
            raise OSError("there is no nvidia-smi")
        command = [program, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits", "-lms", str(int(PERIOD * 1000))]
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        self.process = subprocess.Popen([*command, "-i", first], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def samples(self, ended):
        for line in self.process.stdout:
            if ended.is_set():
                return
            yield self.read(line)

    @staticmethod
    def read(line):
        *numbers, mask = [cell.strip() for cell in line.split(",")]
        values = [float(cell) if cell.replace(".", "", 1).isdigit() else None for cell in numbers]
        return dict(zip(NAMES, [*values, reasons(int(mask, 16)) if mask.startswith("0x") else None]))

    def stop(self):
        self.process.kill()
        self.process.wait()


def open_source():
    """The first that there is, or None and why."""
    why = []
    for source in (Nvml, Smi):
        try:
            return source(), ""
        except (OSError, AttributeError) as error:
            why.append(str(error))
    return None, "; ".join(why)


class Clocks:
    """Samples into a file of JSON lines, as a context; `begin` says which step runs."""

    def __init__(self, path, source=None):
        self.path, (self.device, why) = path, (source, "") if source else open_source()
        self.source = self.device.name if self.device else f"not sampled: {why}"
        self.step, self.taken, self.ended, self.start = "", {}, threading.Event(), time.perf_counter()

    def __enter__(self):
        if self.device:
            self.thread = threading.Thread(target=self.collect, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        if self.device:
            self.device.stop()
            self.thread.join(5)

    def collect(self):
        with self.path.open("w") as file:
            for sample in self.device.samples(self.ended):
                self.taken.setdefault(self.step, []).append(sample)
                line = {"seconds": round(time.perf_counter() - self.start, 2), "step": self.step, **sample}
                file.write(json.dumps(line) + "\n")
                file.flush()

    def begin(self, step):
        self.step = step

    def summary(self, step):
        """Of a step's samples: the clock's median and least, the most power, the reasons for which clocks were lower and how often."""
        samples = list(self.taken.get(step, []))
        clocks = [sample["sm MHz"] for sample in samples if sample["sm MHz"] is not None]
        power = [sample["watts"] for sample in samples if sample["watts"] is not None]
        seen = [reason for sample in samples for reason in sample["reasons"] or []]
        return {
            "samples": len(samples), "sm MHz": [min(clocks), statistics.median(clocks)] if clocks else None, "watts": max(power, default=None),
            "reasons": {reason: seen.count(reason) for reason in sorted(set(seen) - {"idle"})},
        }  # fmt: skip
