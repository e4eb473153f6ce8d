"""Models over ranks that share each expert (etp), and over ranks that share the batch (dp).

The sum over slices is another order than that of one rank, so logits are close to its logits, in bf16 as close to exact ones as PyTorch's. All else
changes no bits: who owns which experts, who has which tokens, how many threads there are, how the batch is divided.
"""

import numpy as np
import pytest
import torch

from moe_mlir.testing.low_precision import RATIO
from moe_mlir.testing.compare import assert_close, relative_error
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.configurations import CACHE, CONFIGURATIONS, FAMILIES
from moe_mlir.testing.full import FULL, whole
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.observe import double_precision, observe
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

NAMES = list(CONFIGURATIONS)
# ep, etp, tokens, threads; the first has no exchange.
SLICES = [(1, 2, None, 1), (2, 2, "split", 2), (2, 2, "replicated", 1)]
MORE_SLICES = [*SLICES, (1, 2, None, 2), (1, 4, None, 1), (2, 2, "split", 1), (4, 2, "split", 1), (4, 2, "replicated", 1)]
# grid, ranks, threads
BATCHES = [("dp=2", 2, 2), ("dp=2,ep=2", 4, 1)]
MORE_BATCHES = [*BATCHES, ("dp=2,ep=2,tokens=replicated", 4, 1), ("dp=3", 3, 1), ("dp=3,ep=2", 6, 2)]


def export(name, dtype, path, **options):
    family, changes = CONFIGURATIONS[name]
    model = tiny_model(family, dtype=getattr(torch, dtype), **changes)
    export_model(model, path, max_cache_len=CACHE, **options)
    return model


def calls_of(model):
    """Numbers of rows that batches do not divide, as many as ranks, and fewer."""
    tokens = random_tokens(model, 5, 21, 0)
    return [step_inputs(tokens[:, :20]), step_inputs(tokens[:, 20:], 20), None, step_inputs(random_tokens(model, 4, 5, 1)), None, step_inputs(tokens[:1, :7])]


@pytest.mark.parametrize("name,dtype", [(name, dtype) for name in NAMES for dtype in ("float32", "bfloat16")] if FULL else [("mixtral", "float32")])
def test_against_one_rank(name, dtype, tmp_path):
    """Divided batches have its bits. Slices are within 1e-5, and have one another's bits however experts and tokens are divided."""
    model = export(name, dtype, tmp_path / "model.pt2")
    calls = calls_of(model)
    one = outputs_of(compile_for(tmp_path / "model.pt2", tmp_path / "one", 1), 1, calls, tmp_path / "expected")
    for index, (grid, ranks, threads) in enumerate(MORE_BATCHES if FULL else BATCHES):
        program = compile_for(tmp_path / "model.pt2", tmp_path / f"batch{index}", grid)
        assert_same_bits(outputs_of(program, ranks, calls, tmp_path / f"batch-calls{index}", threads=threads), one)
    first = {}
    for index, (experts, slices, divided, threads) in enumerate(MORE_SLICES if FULL else SLICES[:2]):
        program = compile_for(tmp_path / "model.pt2", tmp_path / f"slices{index}", f"ep={experts},etp={slices}", tokens=divided)
        results = outputs_of(program, experts * slices, calls, tmp_path / f"slices-calls{index}", threads=threads)
        assert_same_bits(results, first.setdefault(slices, results))
        for result, expected in zip(results, one, strict=True):
            if dtype == "float32":  # in bf16 a rounding may choose another expert
                assert_close(result["logits"], expected["logits"], bound=1e-5)


@whole
@pytest.mark.parametrize("name", NAMES)
def test_bfloat16(name, tmp_path):
    """With the experts given, which a rounding could change: as close to float64 as one rank has to be."""
    model = export(name, "bfloat16", tmp_path / "model.pt2", force_experts=True)
    tokens = random_tokens(model, 32, 16, 0)
    with double_precision(model):
        exact = observe(model, tokens)
    theirs = relative_error(observe(model, tokens, exact.chosen).logits, exact.logits)
    assert theirs > 1e-4, "the reference run is not in bfloat16"
    call = {**step_inputs(tokens), **{f"experts_{i}": value for i, value in enumerate(exact.chosen)}}
    for index, (experts, slices, divided, threads) in enumerate(MORE_SLICES):
        program = compile_for(tmp_path / "model.pt2", tmp_path / f"made{index}", f"ep={experts},etp={slices}", tokens=divided)
        [result] = outputs_of(program, experts * slices, [call], tmp_path / f"calls{index}", threads=threads)
        ours = relative_error(result["logits"].astype(np.float64), exact.logits)
        assert ours <= RATIO * theirs, f"relative error {ours:.3g}, PyTorch's {theirs:.3g}"
