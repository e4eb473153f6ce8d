"""One drawn configuration: as a model that PyTorch runs, exported, compiled, compared with it."""

from pathlib import Path

import torch

from .... import hf
from ....executable import Executable
from ..cycle import compare_pieces, compiled_family, guarded, plain_layers
from ..models import small_model
from . import draw
from .inputs import tokens_with_margins

ATTEMPTS = 30


def run_drawn(number, folder):
    """The row of configuration `number`: as that of a family, and `drawn` as text. Nothing is raised."""
    row = {"family": f"{number}", "equal": False, "raised": False, "layers": {}, "expected": {}, "missing": [], "drawn": "", "refused": []}
    with guarded(row):
        drawn, model, calls = accepted(number, row["refused"])
        row["family"] = drawn.family
        row["drawn"] = repr(drawn)
        graph = compiled_family(model, folder, drawn.cache_length)
        plain = plain_layers(graph)
        remark = None
        with Executable(Path(folder) / "model") as executable, torch.no_grad():
            for tokens, pieces in calls:
                whole = model(input_ids=tokens, use_cache=False).logits.numpy()
                difference, own = compare_pieces(model, executable, tokens, pieces, whole)
                if difference:
                    row["missing"] = [difference]
                    return row
                remark = remark or own
        row.update(equal=True, raised=not plain, missing=[*([remark] if remark else []), *plain])
    return row


def accepted(number, refused=None):
    """`(drawn, model, [(tokens, pieces), ...])` of the first attempt that PyTorch runs; reasons of others are added to `refused`."""
    refused = [] if refused is None else refused
    for attempt in range(ATTEMPTS):
        drawn = draw(number, attempt)
        try:
            model = small_model(drawn.family, seed=number, **drawn.changes)
            if hf.experts_modules(model):
                model.set_experts_implementation("eager")  # which takes experts of any width
            vocabulary = model.config.get_text_config().vocab_size
            calls = [
                (tokens_with_margins(model, batch, sum(pieces), vocabulary, seed), pieces) for seed, (batch, pieces) in enumerate(drawn.calls)
            ]
        except Exception as error:  # of many kinds: whatever a library's model raises
            refused.append(f"{drawn.family}: {type(error).__name__}: {error}")
            continue
        return drawn, model, calls
    raise RuntimeError(f"PyTorch refuses {ATTEMPTS} configurations, the last one with {refused[-1]}")
