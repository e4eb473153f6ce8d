"""What this device reaches now: bytes per second of a read and of a copy, operations per second of a large product. The runner measures it
before the other steps and after them: a device that has slowed down says so."""

import statistics

import torch

from ..stepping import Part, main

CALLS, SAMPLES = 5, 5


def rate(gpu, call, amount):
    gpu.seconds_of(call, CALLS)
    return amount / statistics.median(gpu.seconds_of(call, CALLS) for _ in range(SAMPLES))


def parts(bundle, sizes):
    yield Part("memory")
    yield Part("product")


def run(step, part):
    gpu, sizes = step.gpu, step.sizes
    if part.name == "memory":
        step.write("device", **gpu.describe())
        a = torch.randn(sizes.floor_bytes // 2, device=gpu.torch_device).to(torch.bfloat16)
        b, words = torch.empty_like(a), a.view(torch.int32)
        read, copy = rate(gpu, words.amax, a.nbytes), rate(gpu, lambda: b.copy_(a), 2 * a.nbytes)
        step.write("floor", **{"read bytes/s": read, "copy bytes/s": copy})
    else:
        n = sizes.floor_product
        p, q = (torch.randn(n, n, device=gpu.torch_device).to(torch.bfloat16) for _ in range(2))
        step.write("floor", **{"product operations/s": rate(gpu, lambda: p @ q, 2 * n**3)})


if __name__ == "__main__":
    main("floor", parts, run)
