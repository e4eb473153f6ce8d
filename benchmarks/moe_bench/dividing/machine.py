"""Describes this machine as a cluster of two ranks, for moe-compile --cluster."""

import json

from ..environment import describe as environment
from ..machine import Machine
from ..ranks import windows

# Not measured here. Products of the compiler's kernels reach this part of what a loop of nothing else does (docs/performance/models.md: prefill); a kernel with little
# work takes so long (a trace).
OF_PEAK, LAUNCH = 0.6, 2e-6
# What a rank sends at a time in a prefill. Much smaller messages come out of a cache that both cores have.
MESSAGE = 1 << 20


def describe(folder, cores, memory_bytes):
    """The description, with what the machine does now."""
    both, one = Machine(folder, cores), Machine(folder, cores[:1])
    size, count = 1 << 29, len(cores)
    read = one.read_bandwidth(size, 0.2)
    latency, sent = (summary for summary in windows.summarize(windows.measure(windows.program(folder), cores, 5, 0.05, (MESSAGE,))))
    return {
        "name": "this host",
        "about": f"Measured by benchmarks/run auto: read bandwidth and peak arithmetic of {count} cores, a flag, and rows that one core stores and another one reads. {OF_PEAK} of the peak and the launch are assumed.",
        "device": {
            "name": environment(cores, [])["cpu"] or "CPU", "cores": count, "coreFlops": OF_PEAK * both.measure_peak("bfloat16", 0.3) / count,
            "coreVectorFlops": OF_PEAK * both.measure_peak("float32", 0.3) / count, "coreBytesPerSecond": read,
            "memoryBytesPerSecond": max(both.read_bandwidth(size, 0.2), read), "memoryBytes": memory_bytes,
        },
        "ranksPerNode": count, "local": {"bytesPerSecond": MESSAGE / sent["read_seconds"], "latency": latency["seconds"]}, "network": {"bytesPerSecond": 1.25e9, "latency": 2e-5}, "launch": LAUNCH,
    }  # fmt: skip


def write(path, description):
    """As a file that --cluster takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(description, indent=2) + "\n")
