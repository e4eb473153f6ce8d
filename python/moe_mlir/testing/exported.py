"""What an exported model is made from."""

import os
from pathlib import Path

import torch
import transformers

PACKAGE = Path(__file__).resolve().parents[1]


def parts_of_export(model, options):
    """For `shared.digest`: the exporter, what it stands on, the model (or the directory of a checkpoint) and the options."""
    made_by = ["export", PACKAGE, torch.__version__, transformers.__version__]
    if isinstance(model, (str, os.PathLike)):
        return [*made_by, Path(model), Path(model).name, options]
    generation = getattr(model, "generation_config", None)
    settings = [settings.to_json_string(use_diff=False) for settings in (model.config, generation) if settings]
    weights = {name: [str(value.dtype), list(value.shape), _bytes(value)] for name, value in model.state_dict().items()}
    return [*made_by, type(model).__qualname__, settings, weights, options]


def _bytes(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
