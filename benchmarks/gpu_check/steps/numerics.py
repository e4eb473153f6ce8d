"""(a) Every kernel alone against what the emulated GPU recorded, and whole layers against NumPy in float64."""

import numpy as np

from .. import numerics, reference
from ..arrays import to_bits, to_numbers
from ..cases import NUMERICS, fractions, name_of, small_integers, weights_of
from ..cuda import MAJOR, MINOR, MULTIPROCESSORS, CudaDevice
from ..execution import Execution
from ..program import Program
from ..stepping import Step


def layer_case(tokens, layer, draw):
    """(x, weights, expected, sums of absolute terms)"""
    random = np.random.default_rng(tokens + layer.I)
    weights = {name: to_bits(a, layer.element) for name, a in weights_of(layer, random, draw).items()}
    exact = {name: to_numbers(a, layer.element) for name, a in weights.items()}
    scale = 1 if draw is small_integers else layer.H**0.5
    x = reference.choose_tokens(lambda n: draw(random, (n, layer.H)) * scale, tokens, exact["router"], layer.k, layer.element, exact.get("b_router", 0))
    x = to_bits(x, layer.element)
    return x, weights, *reference.forward(to_numbers(x, layer.element), exact, layer)


def check_kernels(step, device, program, tokens):
    records = numerics.load_records(step.bundle / "records" / f"{program.name}.npz")
    for finding in numerics.check(program, tokens, records, device):
        step.write("kernel", program=program.name, **finding)


def check_layer(step, device, program, tokens, draw):
    x, weights, expected, terms = layer_case(tokens, program.layer, draw)
    run = Execution(device, program.plan(tokens), program.kernels, {"x": x}, weights)
    (y,) = run.run()
    element = program.layer.element
    worst = reference.worst(to_numbers(y, element), expected, terms, element)
    # Repeated calls on the same memory give the same bits.
    same = all(np.array_equal(y, run.run()[0]) for _ in range(3))
    step.write("layer", program=program.name, data=draw.__name__, worst=worst, **{"same bits": same}, passed=worst <= 1 and same)


def main(device=None):
    step = Step("numerics")
    device = device or step.attempt("device", CudaDevice)
    if device:
        driver = device.driver
        capability = f"{driver.attribute(MAJOR)}.{driver.attribute(MINOR)}"
        step.write("device", name=driver.name(), multiprocessors=driver.attribute(MULTIPROCESSORS), capability=capability, driver=driver.version())
        for tokens, layer in NUMERICS[:1] if step.options.few else NUMERICS:
            program = Program.load(step.bundle / "programs" / name_of(tokens, layer))
            step.attempt(program.name, device.load, program)
            step.attempt(program.name, check_kernels, step, device, program, tokens)
            for draw in (small_integers, fractions):
                step.attempt(program.name, check_layer, step, device, program, tokens, draw)
    step.end()


if __name__ == "__main__":
    main()
