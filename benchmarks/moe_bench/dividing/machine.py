"""Describes this machine as a cluster of two ranks, for moe-compile --cluster."""

import json

from ..environment import describe as environment
from ..machine import Machine

# Not measured here. Products of the compiler's kernels reach this part of what a loop of nothing else does (docs/performance/models.md: prefill); a flag and a kernel
# with little work take so long (benchmarks/run ranks; a trace).
OF_PEAK, LATENCY, LAUNCH = 0.6, 1e-6, 2e-6


def describe(folder, cores, memory_bytes):
    """The description, with what the machine does now."""
    both, one = Machine(folder, cores), Machine(folder, cores[:1])
    size, count = 1 << 29, len(cores)
    read = one.read_bandwidth(size, 0.2)
    return {
        "name": "this host",
        "about": f"Measured by benchmarks/run auto: read bandwidth and peak arithmetic of {count} cores. {OF_PEAK} of the peak, latency and launch are assumed; a copy moves a byte twice.",
        "device": {
            "name": environment(cores, [])["cpu"] or "CPU", "cores": count, "coreFlops": OF_PEAK * both.measure_peak("bfloat16", 0.3) / count,
            "coreVectorFlops": OF_PEAK * both.measure_peak("float32", 0.3) / count, "coreBytesPerSecond": read,
            "memoryBytesPerSecond": max(both.read_bandwidth(size, 0.2), read), "memoryBytes": memory_bytes,
        },
        "ranksPerNode": count, "local": {"bytesPerSecond": read / 2, "latency": LATENCY}, "network": {"bytesPerSecond": 1.25e9, "latency": 2e-5}, "launch": LAUNCH,
    }  # fmt: skip


def write(path, description):
    """As a file that --cluster takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(description, indent=2) + "\n")
