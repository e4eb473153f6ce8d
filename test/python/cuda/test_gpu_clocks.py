"""Clocks, power and throttle reasons while steps run: by NVML's functions, by nvidia-smi, and said to be missing without either."""

import ctypes
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from gpu_check import clocks  # noqa: E402
from gpu_check.stepping import read_lines  # noqa: E402


class FakeNvml:
    """The functions that are called, with the arguments that ctypes would hand on; an older driver, and a device whose temperature nobody may
    read."""

    def __init__(self, missing=0):
        self.missing, self.asked = missing, None

    def nvmlInit_v2(self):
        return self.missing

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        self.asked = index.value
        device._obj.value = 77
        return 0

    def nvmlDeviceGetHandleByUUID(self, name, device):
        self.asked = name
        device._obj.value = 77
        return 0

    def give(self, device, value, to):
        assert device.value == 77
        to._obj.value = value
        return 0

    def nvmlDeviceGetClockInfo(self, device, kind, value):
        return self.give(device, {1: 1440, 2: 3201}[kind], value)

    def nvmlDeviceGetPowerUsage(self, device, value):
        return self.give(device, 699500, value)

    def nvmlDeviceGetTemperature(self, device, kind, value):
        return 3  # NVML_ERROR_NOT_SUPPORTED

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, device, value):
        assert isinstance(value._obj, ctypes.c_ulonglong)
        return self.give(device, 0x4 | 0x20, value)


SAMPLE = {"sm MHz": 1440, "memory MHz": 3201, "watts": 699.5, "celsius": None, "reasons": ["power cap", "software thermal"]}


@pytest.mark.parametrize("visible, asked", [("", 0), ("3,1", 3), ("GPU-12ab,1", b"GPU-12ab")])
def test_nvml(monkeypatch, visible, asked):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    device = clocks.Nvml(FakeNvml())
    assert device.sample() == SAMPLE and device.library.asked == asked


def test_nvml_of_a_newer_driver():
    library = FakeNvml()
    library.nvmlDeviceGetCurrentClocksEventReasons = lambda device, value: library.give(device, 0x8, value)
    assert clocks.Nvml(library).sample()["reasons"] == ["hardware slowdown"]


def test_samples_of_a_step(tmp_path, monkeypatch):
    monkeypatch.setattr(clocks, "PERIOD", 0.01)
    with clocks.Clocks(tmp_path / "clocks.jsonl", clocks.Nvml(FakeNvml())) as sampled:
        sampled.begin("layers")
        until = time.monotonic() + 20
        while sampled.summary("layers")["samples"] < 3 and time.monotonic() < until:
            time.sleep(0.01)
    found = sampled.summary("layers")
    assert found["samples"] >= 3 and found["sm MHz"] == [1440, 1440] and found["watts"] == 699.5
    assert found["reasons"] == {"power cap": found["samples"], "software thermal": found["samples"]}
    lines = [line for line in read_lines(tmp_path / "clocks.jsonl") if line["step"] == "layers"]
    assert len(lines) == found["samples"] and {**SAMPLE, "step": "layers"}.items() <= lines[0].items()


def test_nvidia_smi(tmp_path):
    """A program that prints as it does, a line each period, until it is ended."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho \"$@\" > $0.arguments\nwhile sleep 0.01; do echo '1440, 3201, 699.50, [N/A], 0x0000000000000024'; done\n")
    program.chmod(0o755)
    with clocks.Clocks(tmp_path / "clocks.jsonl", clocks.Smi(str(program))) as sampled:
        sampled.begin("layers")
        until = time.monotonic() + 20
        while sampled.summary("layers")["samples"] < 2 and time.monotonic() < until:
            time.sleep(0.01)
    assert read_lines(tmp_path / "clocks.jsonl")[-1].items() >= SAMPLE.items()
    arguments = (tmp_path / "nvidia-smi.arguments").read_text()
    assert "-lms 100" in arguments and "clocks_event_reasons.active" in arguments and arguments.rstrip().endswith("-i 0")
    assert sampled.device.process.returncode is not None, "it still runs"


def test_neither(tmp_path, monkeypatch):
    def no_library(name):
        raise OSError("no libnvidia-ml.so.1")

    monkeypatch.setattr(clocks.ctypes, "CDLL", no_library)
    monkeypatch.setattr(clocks.shutil, "which", lambda name: None)
    with clocks.Clocks(tmp_path / "clocks.jsonl") as sampled:
        sampled.begin("layers")
    assert sampled.source == "not sampled: no libnvidia-ml.so.1; there is no nvidia-smi"
    assert sampled.summary("layers")["samples"] == 0 and not (tmp_path / "clocks.jsonl").exists()


def test_nvml_without_a_device():
    with pytest.raises(OSError, match="NVML's code 9"):
        clocks.Nvml(FakeNvml(missing=9))
