"""Describes this machine as a cluster of two ranks, for moe-compile --cluster."""

import json

from ..environment import describe as environment
from ..machine import Machine
from ..ranks import windows

# Not measured here: what a kernel with little work takes (a trace).
LAUNCH = 2e-6
# What a rank sends at a time in a prefill. Much smaller messages come out of a cache that both cores have.
MESSAGE = 1 << 20


def describe(folder, cores, memory_bytes, products):
    """The description, with what the machine does now; `products` measures those of the compiler (products.py)."""
    both, one = Machine(folder, cores), Machine(folder, cores[:1])
    size, count = 1 << 29, len(cores)
    read = one.read_bandwidth(size, 0.2)
    latency, sent = (summary for summary in windows.summarize(windows.measure(windows.program(folder), cores, 5, 0.05, (MESSAGE,))))
    return {
        "name": "this host",
        "about": f"Measured by benchmarks/run auto: read bandwidth of {count} cores, their rate in products of this compiler, a flag, and rows that one core stores and another one reads. The launch is assumed.",
        "device": {
            "name": environment(cores, [])["cpu"] or "CPU", "cores": count, "coreFlops": products.rate("bfloat16", count) / count,
            "coreVectorFlops": products.rate("float32", count) / count, "coreBytesPerSecond": read,
            "memoryBytesPerSecond": max(both.read_bandwidth(size, 0.2), read), "memoryBytes": memory_bytes,
        },
        "ranksPerNode": count, "local": {"bytesPerSecond": MESSAGE / sent["read_seconds"], "latency": latency["seconds"]}, "network": {"bytesPerSecond": 1.25e9, "latency": 2e-5}, "launch": LAUNCH,
    }  # fmt: skip


def write(path, description):
    """As a file that --cluster takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(description, indent=2) + "\n")
