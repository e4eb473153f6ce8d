"""A compiled layer as files: its host function, and its kernels with text, cubin and what their launches need."""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .cases import Layer
from .hostprogram import read_functions
from .kernels import Kernel, Map
from .plan import make_plan


@dataclass
class Program:
    name: str
    layer: Layer
    host: str  # the host function in generic form
    kernels: dict  # by name
    cubins: dict  # by name; empty where only the emulated GPU is wanted
    cost: dict = field(default_factory=dict)  # {kernel: {tokens, as text: {"estimate", "floor", "terms", "flops", "bytes"}}}, of the cost model

    def plan(self, tokens):
        return make_plan(read_functions(self.host)["main"], {"x": (tokens, self.layer.H)})

    def cost_of(self, kernel, tokens):
        """What the compiler's cost model says of a launch, seconds; None for tokens of which it was not asked."""
        return self.cost.get(kernel, {}).get(str(tokens))

    def save(self, folder):
        folder = Path(folder) / self.name
        folder.mkdir(parents=True)
        (folder / "host.mlir").write_text(self.host)
        described = {}
        for name, kernel in self.kernels.items():
            (folder / f"{name}.cu").write_text(kernel.text)
            if name in self.cubins:
                (folder / f"{name}.cubin").write_bytes(self.cubins[name])
            described[name] = {k: v for k, v in asdict(kernel).items() if k not in ("name", "text")}
        data = {"layer": asdict(self.layer), "kernels": described, "cost": self.cost}
        (folder / "program.json").write_text(json.dumps(data, indent=1) + "\n")

    @staticmethod
    def load(folder):
        folder = Path(folder)
        data = json.loads((folder / "program.json").read_text())
        kernels, cubins = {}, {}
        for name, kernel in data["kernels"].items():
            kernel["maps"] = [Map(**entry) for entry in kernel["maps"]]
            kernels[name] = Kernel(name, (folder / f"{name}.cu").read_text(), **kernel)
            if (folder / f"{name}.cubin").is_file():
                cubins[name] = (folder / f"{name}.cubin").read_bytes()
        return Program(folder.name, Layer(**data["layer"]), (folder / "host.mlir").read_text(), kernels, cubins, data["cost"])


def split_module(module):
    """(its host functions, the module without them), in generic form."""
    function = re.compile(r'^  "func\.func"\(\).*?^  \}\) : \(\) -> \(\)\n', re.M | re.S)
    return "".join(function.findall(module)), function.sub("", module)
