"""A checkpoint as llama.cpp's hyperparameters and tensors."""

import json
from pathlib import Path

from ...tensorfile import bits_of
from . import deepseek_v3, gpt_oss, nemotron_h, qwen3_next
from .weights import Weights

FAMILIES = {"qwen3_next": qwen3_next, "nemotron_h": nemotron_h, "deepseek_v3": deepseek_v3, "gpt_oss": gpt_oss}


def converted(checkpoint):
    """(architecture, hyperparameters, generator of (name, values)); ValueError for a model that llama.cpp does not have.

    values   bits of bf16 (uint16) of what is written in the dtype of the file, or float32
    """
    config = json.loads((Path(checkpoint) / "config.json").read_text())
    family = FAMILIES.get(config["model_type"])
    if not family:
        raise ValueError(f"'{checkpoint}' is a model of '{config['model_type']}'; one of {', '.join(FAMILIES)} was expected")
    return family.ARCHITECTURE, family.metadata(config), _all(family, config, Weights(bits_of(Path(checkpoint) / "model.safetensors", wide=True)))


def _all(family, config, weights):
    yield from family.tensors(config, weights)
    if weights.left():
        raise ValueError(f"the checkpoint has tensors that llama.cpp's {family.ARCHITECTURE} does not have: {', '.join(weights.left()[:3])}")
