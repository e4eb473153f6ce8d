"""A program and another form of it (partial.py) on the same tokens, launch by launch: what the steps of variants and of stamps have in common."""

import torch

from .execution import changeable
from .ours import CompiledLayer, packed_parameters, random_weights
from .partial import load_partial
from .program import Program

FLOATS = (torch.bfloat16, torch.float16, torch.float32)


class Base:
    """A model's program with random weights; `layer(tokens)` has run once."""

    def __init__(self, step, model):
        self.gpu, self.model = step.gpu, model
        self.program = Program.load(step.bundle / "programs" / model)
        self.gpu.load(self.program)
        self.weights, self.shift = random_weights(self.gpu, self.program.layer)
        self.packed, self.calls = self.pack(self.program, {}), {}

    def pack(self, program, other):
        """The weights as a program reads them; those of `other` that are packed alike are shared."""
        recipes = {b.name: b.recipe for b in program.plan(1).buffers if b.role == "parameter"}
        alike = {name: weight for name, (recipe, weight) in other.items() if recipes[name] == recipe}
        missing = {name: self.weights[name] for name in recipes if name not in alike}
        packed = packed_parameters(program, missing) if missing else {}
        return {name: (recipe, alike[name] if name in alike else packed[name]) for name, recipe in recipes.items()}

    def layer_of(self, program, packed, tokens):
        return CompiledLayer(self.gpu, program, {name: weight for name, (_, weight) in packed.items()}, tokens)

    def layer(self, tokens):
        """(layer, x), of which all launches have run."""
        if tokens not in self.calls:
            self.calls.clear()
            x = (torch.randn(tokens, self.program.layer.H, device=self.gpu.torch_device) + self.shift).to(torch.bfloat16)
            layer = self.layer_of(self.program, self.packed, tokens)
            layer(x)
            self.gpu.synchronize()
            self.calls[tokens] = layer, x
        return self.calls[tokens]

    def other(self, folder):
        """(program, packed weights) of another form."""
        program = load_partial(folder, self.program)
        self.gpu.load(program)
        return program, self.pack(program, self.packed)


def take_over(layer, base):
    """Every buffer that is no weight and no input holds what the base's holds."""
    for to, source, buffer in zip(layer.buffers, base.buffers, base.plan.buffers):
        if buffer.role in ("scratch", "output"):
            to.copy_(source)


def result_of(layer, number):
    """The tensor of floats that a launch of a product writes: the last one that it is given."""
    indices = [argument["buffer"] for argument in layer.plan.launches[number].arguments if "buffer" in argument]
    changed = changeable(layer.plan, layer.plan.launches[number])
    return [layer.buffers[i] for i in indices if i in changed and layer.buffers[i].dtype in FLOATS][-1]


def same_bits(a, b):
    return bool(torch.equal(a.view(torch.uint8), b.view(torch.uint8)))
