"""(b) Forward passes of five models' MoE layers, routing and combine included: compiled, PyTorch, Triton, and cuBLAS as a yardstick.

Random data only. A graph holds several calls on different tokens, so that the weights that it reads are more than four times the L2.
"""

import statistics

import torch

from ..cases import MODELS, TOKENS
from ..cuda import L2_BYTES, MULTIPROCESSORS, Driver
from ..measuring import capture, count_launches, in_turns, measure_floor
from ..ours import CompiledLayer, packed_parameters
from ..peers import Dense, GroupedMm, exact_rows, route
from ..program import Program
from ..stepping import Step

ORDER = sorted(TOKENS, key=[8192, 8, 1, 64, 512, 2048].index)
CHECKED = 4  # tokens of each row, in float64
SIDES_OF_LARGE = 512  # tokens from which the yardstick is one
RESERVE = 12  # seconds that a row may take


def make_weights(layer, skewed):
    """Normal numbers; with `skewed` routing each expert has a bias that its tokens share, so that some get many times the mean."""
    torch.manual_seed(layer.H + layer.E)
    weights = {}
    for name, shape in layer.weight_shapes().items():
        weights[name] = torch.empty(shape, dtype=torch.bfloat16, device="cuda").normal_().mul_(shape[-1] ** -0.5)
    direction = torch.nn.functional.normalize(torch.randn(layer.H, device="cuda"), dim=0)
    if skewed:
        bias = torch.randn(layer.E, 1, device="cuda") * layer.H**-0.5
        weights["router"] += (bias * direction).to(torch.bfloat16)
    return weights, direction * layer.H**0.5 if skewed else 0


def make_inputs(layer, tokens, shift, l2):
    """So many inputs that the experts' weights which a replay reads are more than four times the L2."""
    experts = min(layer.E, tokens * layer.k)
    read = 6 * experts * layer.H * layer.I
    count = min(16, max(1, -(-5 * l2 // read)))
    return [(torch.randn(tokens, layer.H, device="cuda") + shift).to(torch.bfloat16) for _ in range(count)]


def errors_of(call, layer, weights, x):
    """The largest error of a few tokens in units of the bound of reference.py."""
    tokens = torch.linspace(0, len(x) - 1, min(CHECKED, len(x)), device="cuda").long().unique()
    y, terms, clear = exact_rows(layer, weights, x, tokens)
    error = (call(x)[tokens].double() - y).abs() / (2.0**-7 * terms).clamp(min=1e-30)
    worst = error.nan_to_num(nan=float("inf"))[clear]
    return float(worst.max()) if len(worst) else 0.0


def sides_of(step, context, layer, tokens):
    sides = [lambda: CompiledLayer(context["driver"], context["functions"], context["program"], context["packed"], tokens, context["sms"])]
    sides.append(lambda: GroupedMm(layer, context["weights"]))

    def triton_side():
        from ..triton_peer import TritonLayer

        return TritonLayer(layer, context["weights"], tokens)

    sides.append(triton_side)
    if tokens >= SIDES_OF_LARGE:
        sides.append(lambda: Dense(layer, context["weights"]))
    return [side for make in sides if (side := step.attempt("side", make)) is not None]


def row(step, context, model, layer, tokens, routing):
    xs = make_inputs(layer, tokens, context["shift"], context["l2"])
    loads = torch.stack([torch.bincount(route(x, context["weights"], layer.k)[1].flatten(), minlength=layer.E) for x in xs])
    experts = float((loads > 0).sum(dim=1).float().mean())
    graphs, errors, launches = {}, {}, {}
    for side in sides_of(step, context, layer, tokens):
        if side.name != Dense.name:
            errors[side.name] = step.attempt(f"{side.name}, numbers", errors_of, side, layer, context["weights"], xs[0])
        if side.name == CompiledLayer.name and not (errors[side.name] is not None and errors[side.name] <= 1):
            continue  # the time of wrong numbers says nothing
        graph = step.attempt(f"{side.name}, capture", capture, side, xs)
        if graph is not None:
            graphs[side.name] = graph
            if tokens == 1 and routing == "uniform":
                launches[side.name] = count_launches(context["driver"], side, xs[0])
    samples = in_turns(graphs, len(xs))
    operations, moved = layer.operations(tokens), layer.bytes_moved(tokens, experts)
    floor = max(operations / context["floor"]["product operations/s"], moved / context["bandwidth"])
    sides = {}
    for name, times in samples.items():
        best = statistics.median(times)
        sides[name] = {
            "samples": times, "median": best, "TFLOP/s": operations / best / 1e12, "GB/s": moved / best / 1e9,
            "of the floor": floor / best, "launches": launches.get(name), "error": errors.get(name),
        }  # fmt: skip
    ours = errors.get(CompiledLayer.name)
    step.write(
        "row", model=model, tokens=tokens, routing=routing, dtype="bf16", inputs=len(xs), experts=experts, operations=operations, bytes=moved,
        floor=floor, largest=float(loads.max() / loads.float().mean()), sides=sides, passed=ours is not None and ours <= 1,
    )  # fmt: skip


def model_rows(step, context, model, layer, routing):
    context["weights"], context["shift"] = make_weights(layer, routing == "skewed")
    context["program"] = Program.load(step.bundle / "programs" / model)
    context["packed"] = packed_parameters(context["program"], context["weights"])
    driver, program = context["driver"], context["program"]
    context["functions"] = {name: driver.load(program.cubins[name], name, kernel.shared) for name, kernel in program.kernels.items()}
    for tokens in ORDER:
        if step.left < RESERVE:
            step.write("skipped", model=model, tokens=tokens, routing=routing)
            continue
        step.attempt(f"{model} T={tokens} {routing}", row, step, context, model, layer, tokens, routing)
        torch.cuda.empty_cache()


def main():
    step = Step("layers")
    # PyTorch first: it makes the primary context.
    floor = step.attempt("floor", measure_floor)
    driver = step.attempt("driver", Driver) if floor else None
    if driver and floor:
        properties = torch.cuda.get_device_properties(0)
        step.write("device", name=properties.name, torch=torch.__version__, cuda=torch.version.cuda, driver=driver.version(), **floor)
        context = {
            "driver": driver, "floor": floor, "bandwidth": max(floor["read bytes/s"], floor["copy bytes/s"]),
            "l2": driver.attribute(L2_BYTES), "sms": driver.attribute(MULTIPROCESSORS),
        }  # fmt: skip
        for routing in ("uniform", "skewed"):
            for model, layer in MODELS.items():
                step.attempt(f"{model} {routing}", model_rows, step, context, model, layer, routing)
                for name in ("weights", "packed", "program", "functions"):
                    context.pop(name, None)
                torch.cuda.empty_cache()
    step.end()


if __name__ == "__main__":
    main()
