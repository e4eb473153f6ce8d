"""(a) Every kernel alone against what the emulated GPU recorded; small layers against NumPy in float64; models' layers in all elements against
float64 on the device, and repeated, bit by bit."""

import numpy as np

from .. import numerics, reference
from ..arrays import to_bits, to_numbers
from ..cases import fractions, name_of, small_integers, weights_of
from ..execution import Execution
from ..program import Program
from ..stepping import Part, main


def layer_case(tokens, layer, draw):
    """(x, weights, expected, sums of absolute terms)"""
    random = np.random.default_rng(tokens + layer.I)
    weights = {name: to_bits(a, layer.element) for name, a in weights_of(layer, random, draw).items()}
    exact = {name: to_numbers(a, layer.element) for name, a in weights.items()}
    scale = 1 if draw is small_integers else layer.H**0.5
    x = reference.choose_tokens(lambda n: draw(random, (n, layer.H)) * scale, tokens, exact["router"], layer.k, layer.element, exact.get("b_router", 0))
    x = to_bits(x, layer.element)
    return x, weights, *reference.forward(to_numbers(x, layer.element), exact, layer)


def check_kernels(step, program, tokens):
    records = numerics.load_records(step.bundle / "records" / f"{program.name}.npz")
    for finding in numerics.check(program, tokens, records, step.gpu):
        step.write("kernel", program=program.name, **finding)


def check_layer(step, program, tokens, draw):
    x, weights, expected, terms = layer_case(tokens, program.layer, draw)
    run = Execution(step.gpu, program.plan(tokens), program.kernels, {"x": x}, weights)
    (y,) = run.run()
    element = program.layer.element
    worst = reference.worst(to_numbers(y, element), expected, terms, element)
    # Repeated calls on the same memory give the same bits.
    same = all(np.array_equal(y, run.run()[0]) for _ in range(3))
    step.write("layer", program=program.name, data=draw.__name__, worst=worst, **{"same bits": same}, passed=worst <= 1 and same)


def check_model(step, model, tokens):
    """All elements of the layer's result, and `runs` calls."""
    import torch

    from ..exact import clear_tokens, errors, exact_layer
    from ..ours import CompiledLayer, packed_parameters, random_weights
    from ..steadiness import steadiness

    def load():
        program = Program.load(step.bundle / "programs" / model)
        step.gpu.load(program)
        weights, _ = random_weights(step.gpu, program.layer)
        return program, weights, packed_parameters(program, weights)

    program, weights, packed = step.once(model, load)
    layer = program.layer
    x = clear_tokens(layer, weights, tokens, lambda count: torch.randn(count, layer.H, device=step.gpu.torch_device))
    result, faults, runs = steadiness(CompiledLayer(step.gpu, program, packed, tokens), x, step.sizes.runs)
    found = errors(result, *exact_layer(layer, weights, x)[:2])
    step.write("all elements", model=model, tokens=tokens, **found, passed=found["wrong"] == 0)
    for fault in faults:
        step.write("sporadic fault", model=model, tokens=tokens, **{**fault, "of": runs}, passed=False)
    if not faults:
        step.write("steady", model=model, tokens=tokens, runs=runs, passed=True)


def parts(bundle, sizes):
    for tokens, layer in sizes.kernels:
        yield Part(name_of(tokens, layer), {"tokens": tokens}, seconds=10, group="small")
    for model, calls in sizes.steady.items():
        for tokens in calls:
            yield Part(f"{model} T={tokens}", {"model": model, "tokens": tokens}, seconds=15, group=model)


def run(step, part):
    if "model" in part.arguments:
        check_model(step, **part.arguments)
        step.gpu.free_unused()
        return
    program = Program.load(step.bundle / "programs" / part.name)
    tokens = part.arguments["tokens"]
    step.gpu.load(program)
    step.attempt(f"{part.name}, kernels", check_kernels, step, program, tokens)
    for draw in (small_integers, fractions):
        step.attempt(f"{part.name}, {draw.__name__}", check_layer, step, program, tokens, draw)


if __name__ == "__main__":
    main("numerics", parts, run)
