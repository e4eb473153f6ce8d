"""Where in a model PyTorch or transformers gave up, and what would help."""

import traceback
from pathlib import Path

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

TORCH = Path(torch.__file__).parent

# The way that is left for a model that `export` cannot take.
PLAIN_EXPORT = (
    "what plain torch.export and torch.export.save write compiles too, and runs with --input (docs/Export.md)"
)

# Beginning of an exception's name, or words of its text -> what would help. Those of torch.export come when a Python `if`, a loop or
# a shape would have to know what a tensor holds.
DATA = ("what decides there must follow from sizes and constants; where a module branches on data, replace its forward by one that computes "
        "all cases")
CACHE = "its cache is of a kind that this export does not know; export it without one (--no-cache)"
# A model that asks a cache for what no other one has adds numbers to its masks, too, which only plain export keeps.
OTHER_CACHE = ("its cache is of a kind that this export does not know; what plain torch.export and torch.export.save write of the model without a cache compiles, "
               "and runs with --input (docs/Export.md)")
# Such a model does not run at all, so that no other way of exporting it helps.
FEWER = ("the k largest of fewer than k values are taken there: if that is a router, num_experts_per_tok of config.json exceeds the "
         "number of experts; correct it")
HELPS = {
    "GuardOnDataDependentSymNode": DATA, "DataDependentOutputException": DATA, "DynamicOutputShapeException": DATA,
    "UncapturedDataDependent": DATA, "UserError": DATA, "past_key_values": CACHE, "attention layer": CACHE, "on layer": CACHE,
    "selected index k out of range": FEWER,
}


def place_of(model, error):
    """ "model.layers.0.mlp (DogeCDMoE, modeling_doge.py:414)" of the innermost module of `model` that `error` came through, or ""."""
    names = {id(module): name for name, module in model.named_modules() if name}
    inner, line, seen = None, None, set()
    while error is not None and id(error) not in seen:  # from what was raised last to what was raised first
        seen.add(id(error))
        for frame, number in traceback.walk_tb(error.__traceback__):
            module, file = frame.f_locals.get("self"), Path(frame.f_code.co_filename)
            if isinstance(module, torch.nn.Module) and id(module) in names:
                inner = module
                line = f"{file.name}:{number}" if TORCH not in file.parents else line
        error = error.__cause__ or error.__context__
    kind = ", ".join(filter(None, (type(inner).__name__, line)))
    return f"{names[id(inner)]} ({kind})" if inner is not None else ""


def help_for(error, cached):
    """What to try, "" if nothing is known."""
    text = f"{type(error).__name__}: {error}"
    helps = [help for key, help in HELPS.items() if key in text]
    if isinstance(error, AttributeError) and isinstance(error.obj, (Cache, CacheLayerMixin)):
        helps.append(OTHER_CACHE)
    return next((help for help in helps if help != CACHE or cached), "")
