"""(b) Each launch of a layer alone, repeated on what the launches before it left, beside the terms of the compiler's cost model.

What a launch reads is in the L2 as far as it fits there: that of one token's launches is, beyond the weights of its experts.
"""

import torch

from ..execution import changeable
from ..ours import CompiledLayer, packed_parameters, random_weights
from ..program import Program
from ..steadiness import bits
from ..stepping import Part, main


def parts(bundle, sizes):
    for tokens in sizes.points:
        for model in sizes.measured:
            program = Program.load(bundle / "programs" / model)
            for number, launch in enumerate(program.plan(tokens).launches):
                arguments = {"model": model, "tokens": tokens, "launch": number, "kernel": launch.kernel}
                yield Part(f"{model} T={tokens} {launch.kernel}", arguments, seconds=10, group=f"{model} T={tokens}")


class Launches:
    """A layer whose launches have run up to some number."""

    def __init__(self, gpu, program, tokens):
        gpu.load(program)
        weights, _ = random_weights(gpu, program.layer)
        self.layer, self.ready = CompiledLayer(gpu, program, packed_parameters(program, weights), tokens), 0
        self.x = torch.randn(tokens, program.layer.H, device=gpu.torch_device).to(torch.bfloat16)

    def prepare(self, number):
        """What launch `number` reads is there."""
        for earlier in range(self.ready, number):
            self.layer.launch(earlier, self.x)
        self.layer.gpu.synchronize()
        self.ready = max(self.ready, number)

    def repeats(self, number):
        """Whether a second launch leaves what the first one left."""
        indices = changeable(self.layer.plan, self.layer.plan.launches[number])
        self.layer.launch(number, self.x)
        once = {i: self.layer.buffers[i].clone() for i in indices}
        self.layer.launch(number, self.x)
        return all(torch.equal(bits(once[i]), bits(self.layer.buffers[i])) for i in indices)


def run(step, part):
    model, tokens, number, kernel = part.arguments.values()
    program = step.once(model, lambda: Program.load(step.bundle / "programs" / model))
    launches = step.once(tokens, lambda: Launches(step.gpu, program, tokens))
    launches.prepare(number)
    repeats = launches.repeats(number)
    took = step.time(lambda: launches.layer.launch(number, launches.x))
    cost = program.cost_of(kernel, tokens)
    ratio = took["median"] / cost["estimate"] if cost else None
    step.write("launch", **part.arguments, **took, cost=cost, **{"of the estimate": ratio}, passed=repeats)


if __name__ == "__main__":
    main("launches", parts, run)
