"""Makes the checkpoint of a family, in bf16: `python -m moe_bench.families.checkpoints FAMILY TARGET`."""

import shutil
import sys
from pathlib import Path

from .configurations import configuration

# What a layer adds to the residual is made by one of these.
OUTPUTS = ("o_proj.weight", "out_proj.weight", "down_proj", "down_proj.weight")


def make(config, target):
    """Saves a model of `config` with seeded weights of unit gain, scaled as `checkpoints.make_random` does.

    Decays are drawn so that states last for some tokens: with those of unit gain a recurrence would forget within one.
    """
    import torch

    from moe_mlir import hf
    from moe_mlir.testing.models import build

    model = build(config, dtype=torch.float32)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("A_log"):
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator) - 1.5)
            elif name.endswith(OUTPUTS):
                parameter.mul_((2 * config.num_hidden_layers) ** -0.5)
    hf.cast(model, torch.bfloat16)
    model.save_pretrained(target)


if __name__ == "__main__":
    family, folder = sys.argv[1:]
    temporary = Path(folder + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    make(configuration(family), temporary)
    temporary.rename(folder)
