"""When the tiles of the expert products have their first stage, their last product and their results, on which multiprocessor: distributions of the
phases, and what stands idle at the end of a launch. The numbers that the instrumented kernels compute are the plain ones' bit for bit."""

import ctypes

import torch

from ..comparing import Base, result_of, same_bits, take_over
from ..partial import load_kinds
from ..stamps import FIELDS, summary
from ..stepping import Part, main

RECORDS = 1024  # of a block
RUNS = 3  # of which the last is looked at


def parts(bundle, sizes):
    for model in sizes.measured:
        for tokens in sizes.points:
            yield Part(f"{model} T={tokens}", {"model": model, "tokens": tokens}, group=model, least=1.5)


def launch(gpu, layer, number, x, stamps):
    """A launch whose kernel takes stamps: two slots behind the others, before the maps."""
    kernel, grid, values, inputs, maps = layer.prepared[number]
    values = list(values)
    for i in inputs:
        values[i] = ctypes.c_uint64(gpu.address(x))
    for i, encode in maps:
        values[i] = encode(gpu.address(x))
    slots = len(values) - len(kernel.maps)
    gpu.run(kernel, grid, [*values[:slots], ctypes.c_uint64(gpu.address(stamps)), ctypes.c_int64(stamps.shape[1]), *values[slots:]])
  


def run(step, part):
    model, tokens = part.arguments["model"], part.arguments["tokens"]
    gpu = step.gpu
    base = step.once(("base", model), lambda: Base(step, model))
    program, packed = step.once(("stamps", model), lambda: base.other(step.bundle / "stamps" / model))
    (kind,) = [kind for kind in load_kinds(step.bundle / "stamps") if kind.name == model]
    plain, x = base.layer(tokens)
    stamped = base.layer_of(program, packed, tokens)
    for number, name in enumerate(plain.names):
        if name not in kind.kernels:
            continue
        take_over(stamped, plain)
        result_of(stamped, number).zero_()
        for _ in range(RUNS):
            stamps = torch.zeros((gpu.multiprocessors, RECORDS, FIELDS), dtype=torch.int64, device=gpu.torch_device)
            launch(gpu, stamped, number, x, stamps)
            gpu.synchronize()
        same = same_bits(result_of(stamped, number), result_of(plain, number))
        found = summary(stamps.cpu().numpy())
        step.write("stamps", model=model, tokens=tokens, kernel=name, **found, **{"same bits": same}, passed=same and not found["problems"])


if __name__ == "__main__":
    main("stamps", parts, run)
