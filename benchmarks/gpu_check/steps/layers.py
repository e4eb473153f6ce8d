"""(c) Forward passes of models' MoE layers, routing and combine included: compiled and cuBLAS as a yardstick first, then in turns with PyTorch
and Triton, then all of them with skewed routing.

Random data only. A graph holds several calls on different tokens, so that the weights that it reads are more than four times the L2.
"""

import statistics
from functools import partial

import torch

from ..exact import errors, exact_layer
from ..measuring import floor_of, floor_seconds, in_turns
from ..ours import CompiledLayer, packed_parameters, random_weights
from ..peers import Dense, GroupedMm, route
from ..program import Program
from ..stepping import Part, main

CHECKED = 4  # tokens of each row, in float64; the step `numerics` looks at all of them
OURS, PEERS = CompiledLayer.name, (GroupedMm.name, "Triton grouped")


def parts(bundle, sizes):
    """A process per model and pass; a watchdog per row."""
    for routing, sides, what in (("uniform", (OURS, Dense.name), ""), ("uniform", (OURS, *PEERS), " peers"), ("skewed", (OURS, *PEERS), "")):
        for model in sizes.models:
            for tokens in sizes.tokens:
                chosen = [side for side in sides if side != Dense.name or tokens >= sizes.dense_from]
                arguments = {"model": model, "tokens": tokens, "routing": routing, "among": chosen}
                yield Part(f"{model} T={tokens} {routing}{what}", arguments, seconds=15, group=f"{model} {routing}{what}", least=3)


class Model:
    """A model's layer on the device: program and weights."""

    def __init__(self, step, model, routing):
        self.gpu, self.program = step.gpu, Program.load(step.bundle / "programs" / model)
        self.layer = self.program.layer
        self.gpu.load(self.program)
        self.weights, self.shift = random_weights(self.gpu, self.layer, routing == "skewed")
        self.packed = packed_parameters(self.program, self.weights)

    def inputs(self, tokens, most):
        """So many inputs that the experts' weights which a replay reads are more than four times the L2."""
        read = 6 * min(self.layer.E, tokens * self.layer.k) * self.layer.H * self.layer.I
        count = min(most, max(1, -(-5 * self.gpu.l2_bytes // read)))
        return [(torch.randn(tokens, self.layer.H, device=self.gpu.torch_device) + self.shift).to(torch.bfloat16) for _ in range(count)]

    def side(self, name, tokens):
        if name == OURS:
            return CompiledLayer(self.gpu, self.program, self.packed, tokens)
        if name == Dense.name:
            return Dense(self.layer, self.weights)
        if name == GroupedMm.name:
            return GroupedMm(self.layer, self.weights)
        from ..triton_peer import TritonLayer

        return TritonLayer(self.layer, self.weights, tokens)

    def error(self, side, x):
        """The largest error of a few clearly routed tokens in units of the bound of exact.py."""
        tokens = torch.linspace(0, len(x) - 1, min(CHECKED, len(x)), device=x.device).long().unique()
        y, terms, clear = exact_layer(self.layer, self.weights, x[tokens])
        return errors(side(x)[tokens][clear], y[clear], terms[clear])["worst"] if clear.any() else 0.0


def run(step, part):
    name, tokens, routing, among = part.arguments.values()
    model = step.once(part.group, lambda: Model(step, name, routing))
    layer, xs = model.layer, model.inputs(tokens, step.sizes.inputs)
    loads = torch.stack([torch.bincount(route(x, model.weights, layer.k)[1].flatten(), minlength=layer.E) for x in xs])
    graphs, found, launches = {}, {}, {}
    for side_name in among:
        if side_name == "Triton grouped" and "triton" not in step.gpu.features:
            continue
        side = step.attempt(side_name, model.side, side_name, tokens)
        if side is None:
            continue
        if side_name != Dense.name:
            found[side_name] = step.attempt(f"{side_name}, numbers", model.error, side, xs[0])
        if side_name == OURS and not (found[OURS] is not None and found[OURS] <= 1):
            continue  # the time of wrong numbers says nothing
        graph = step.attempt(f"{side_name}, capture", step.gpu.capture, [partial(side, x) for x in xs])
        if graph is not None:
            graphs[side_name] = graph
            if tokens == 1 and routing == "uniform":
                launches[side_name] = step.gpu.count_launches(partial(side, xs[0]))
    samples = in_turns(step.gpu, graphs, len(xs), step.sizes.rounds)
    experts = float((loads > 0).sum(dim=1).float().mean())
    operations, moved = layer.operations(tokens), layer.bytes_moved(tokens, experts)
    floor = floor_seconds(floor_of(step.options.out.parent), operations, moved)
    sides = {side: figures(times, operations, moved, floor, launches.get(side), found.get(side)) for side, times in samples.items()}
    ours = found.get(OURS)
    step.write(
        "row", model=name, tokens=tokens, routing=routing, dtype="bf16", inputs=len(xs), experts=experts, operations=operations, bytes=moved,
        floor=floor, largest=float(loads.max() / loads.float().mean()), sides=sides, passed=ours is not None and ours <= 1,
    )  # fmt: skip
    step.gpu.free_unused()


def figures(times, operations, moved, floor, launches, error):
    best = statistics.median(times)
    return {
        "samples": times, "median": best, "TFLOP/s": operations / best / 1e12, "GB/s": moved / best / 1e9,
        "of the floor": floor / best if floor else None, "launches": launches, "error": error,
    }  # fmt: skip


if __name__ == "__main__":
    main("layers", parts, run)
