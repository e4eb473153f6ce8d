"""Models whose attention, dense layers, embedding and head ranks share (tp), alone and with experts that they share or divide.

A product whose columns are divided has the bits of one rank; what ranks add is another order of a sum, so logits are within 1e-5 of one rank's, and in
bf16 as close to exact ones as PyTorch's. How experts and batches are divided beside it changes no bits.
"""

import re

import numpy as np
import pytest
import torch

from edited import compile_text, line_of, substitute, text_at, without
from moe_mlir.testing.low_precision import RATIO
from moe_mlir.testing.compare import assert_close, relative_error
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.configurations import CACHE
from moe_mlir.testing.full import FULL, sample, whole
from moe_mlir.testing.inputs import random_tokens
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.observe import double_precision, observe
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of, run

# Heads and a vocabulary that four ranks can share. OLMoE's norms of queries and keys are over all heads, qwen3's over each.
CHANGES = {"vocab_size": 332, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 12, "num_hidden_layers": 1}
FAMILIES = ["mixtral", "qwen3_moe", "olmoe"]
# Fewer heads of keys than ranks: neighbours have the same one. "one_head": what all queries read, on every rank.
HEADS = {"olmoe": 2, "one_head": 1}
# What --parallel says, ranks, threads; groups of programs with one tp and etp, which have the same bits.
MORE = [("tp=2", 2, 2), ("tp=4", 4, 1), ("ep=2,tp=2", 4, 1), ("ep=2,tp=2,tokens=replicated", 4, 1), ("tp=2,etp=2", 2, 1), ("ep=2,tp=2,etp=2", 4, 1),
        ("dp=2,tp=2", 4, 1), ("ep=2,tp=4", 8, 1), ("tp=2", 2, 1)]
DIVIDED = {"mixtral": [("tp=4", 4, 1)], "qwen3_moe": [("ep=2,tp=2", 4, 1)], "olmoe": [("tp=2,etp=2", 2, 2), ("tp=4", 4, 1)]}


def export(family, dtype, path, **options):
    changes = {**CHANGES, "num_key_value_heads": HEADS.get(family, CHANGES["num_key_value_heads"])}
    if family == "qwen3_moe":
        changes |= {"num_hidden_layers": 2, "mlp_only_layers": [1]}
    model = tiny_model("qwen3_moe" if family == "one_head" else family, dtype=getattr(torch, dtype), **changes)
    export_model(model, path, max_cache_len=CACHE, **options)
    return model


def calls_of(model):
    """A prompt and a step behind it, a batch of less rows than ranks, and one that begins anew."""
    tokens = random_tokens(model, 5, 21, 0)
    return [step_inputs(tokens[:, :20]), step_inputs(tokens[:, 20:], 20), None, step_inputs(random_tokens(model, 1, 9, 1)), None, step_inputs(tokens[:3, :7])]


def kind_of(spec):
    """What of the text decides bits."""
    return tuple(field for field in spec.split(",") if field.startswith(("tp", "etp")))


@pytest.fixture(scope="module", params=sample([*FAMILIES, "one_head"], 1, 2))
def compiled(request, tmp_path_factory):
    """(family, folder with model.pt2, calls, results of one rank)"""
    folder = tmp_path_factory.mktemp(request.param)
    model = export(request.param, "float32", folder / "model.pt2")
    calls = calls_of(model)
    return request.param, folder, calls, outputs_of(compile_for(folder / "model.pt2", folder / "one", 1), 1, calls, folder / "expected")


def test_against_one_rank(compiled, tmp_path):
    """fp32: close logits, and the same tokens."""
    family, folder, calls, one = compiled
    first = {}
    for index, (spec, ranks, threads) in enumerate(MORE if FULL else DIVIDED[family]):
        program = compile_for(folder / "model.pt2", tmp_path / f"made{index}", spec)
        results = outputs_of(program, ranks, calls, tmp_path / f"calls{index}", threads=threads)
        assert_same_bits(results, first.setdefault(kind_of(spec), results))
        for result, expected in zip(results, one, strict=True):
            assert_close(result["logits"], expected["logits"], bound=1e-5)
            assert (result["logits"].argmax(-1) == expected["logits"].argmax(-1)).all()


@pytest.mark.parametrize("compiled", ["mixtral"], indirect=True)
def test_a_product_made_whole_again(compiled, tmp_path):
    """Level spmd says what a rank has, and can be edited: here every rank makes all logits. --info names the heads of a rank's caches."""
    _, folder, calls, one = compiled
    text = text_at("spmd", folder / "model.pt2", "tp=2")
    assert text.count("tensor<?x2x128x12xf32>, tensor<?x2x128x12xf32> ->") == 1
    gather = line_of(r"shard\.all_gather", text)
    joined, part = re.match(r"\s*(%\w+) = shard\.all_gather (%\w+) on", gather).groups()
    edited = without(r"shard\.all_gather", text).replace(f"return {joined}", f"return {part}")
    head = line_of(r'moe\.parameter \["\S*lm_head', text)
    edited = edited.replace(head, re.sub(r" recipe \[.*?\]", "", head).replace("<166x", "<332x"))
    product = line_of(rf"{part} = nn\.linear", text)
    edited = edited.replace(product, product.replace("tensor<166x", "tensor<332x").replace("x166xf32>", "x332xf32>"))
    done, program = compile_text(edited, "spmd", tmp_path / "edited")
    assert done.returncode == 0, done.stderr
    for result, expected in zip(outputs_of(program, 2, calls, tmp_path / "calls"), one, strict=True):
        assert_close(result["logits"], expected["logits"], bound=1e-5)
    assert re.search(r"key_cache_0 +batch x 2 x .* x f32", run(program, 1, "--info").stdout)
    unsummed = substitute(r"= shard\.all_reduce (%\w+) on @tp.*", r"= arith.negf \1 : tensor<?x?x96xf32>", text)
    done, _ = compile_text(unsummed, "spmd", tmp_path / "refused")
    assert done.returncode == 2 and "and so gives summands: only a rounding and a shard.all_reduce" in done.stderr


@whole
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sums", ["f32", "bf16"])
def test_bfloat16(family, sums, tmp_path):
    """With the experts given, which a rounding could change: as close to float64 as one rank has to be."""
    model = export(family, "bfloat16", tmp_path / "model.pt2", force_experts=True)
    tokens = random_tokens(model, 32, 16, 0)
    with double_precision(model):
        exact = observe(model, tokens)
    theirs = relative_error(observe(model, tokens, exact.chosen).logits, exact.logits)
    assert theirs > 1e-4, "the reference run is not in bfloat16"
    call = {**step_inputs(tokens), **{f"experts_{i}": value for i, value in enumerate(exact.chosen)}}
    for index, (spec, ranks, threads) in enumerate(MORE):
        program = compile_for(tmp_path / "model.pt2", tmp_path / f"made{index}", f"{spec},sums={sums}")
        [result] = outputs_of(program, ranks, [call], tmp_path / f"calls{index}", threads=threads)
        ours = relative_error(result["logits"].astype(np.float64), exact.logits)
        assert ours <= RATIO * theirs, f"{spec}: relative error {ours:.3g}, PyTorch's {theirs:.3g}"
