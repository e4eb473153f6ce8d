"""Compiled models for the numeric tests; each configuration is exported and compiled once per session."""

import pytest
import torch

from moe_mlir.testing.compiling import compile_model
from moe_mlir.testing.configurations import CACHE, CONFIGURATIONS, LARGE_CUT
from moe_mlir.testing.models import tiny_model


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Function: configuration name, dtype, flags of moe-compile, options of export -> (model, Executable)."""
    made = {}

    def get(name, dtype=torch.float32, flags=(), **options):
        key = (name, dtype, tuple(flags), tuple(sorted(options.items())))
        if key not in made:
            family, changes = {**CONFIGURATIONS, **LARGE_CUT}[name]
            model = tiny_model(family, dtype=dtype, **changes)
            folder = tmp_path_factory.mktemp(name)
            made[key] = model, compile_model(model, folder, *flags, **{"max_cache_len": CACHE, **options})
        return made[key]

    return get
