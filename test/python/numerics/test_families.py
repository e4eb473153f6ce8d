"""Families of models that nobody prepared for: the compiler makes the right program or says what is missing.

A few here; every family of transformers with experts, and a sample of those without, in `scripts/test --full`.
"""

import re
import subprocess

import pytest
import torch

from moe_mlir import Executable
from moe_mlir.serving import Refused
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.families import Logits, moe_families, small_model
from moe_mlir.testing.full import FULL
from moe_mlir.testing.paths import ROOT

# Experts beside a dense block and widths that differ by layer; a mask that is computed; a part of a head that is empty; sinks of eager attention;
# a cache that the export with a cache does not know.
FEW = ["gemma4_text", "doge", "mimo_v2_flash", "flint", "deepseek_v4"]
DENSE = ["apertus", "cohere2", "exaone4", "gemma2", "gemma3_text", "glm4", "gpt2", "gpt_neox", "granite", "llama", "olmo2", "opt", "phi3",
         "qwen2", "qwen3", "smollm3", "stablelm", "starcoder2"]
# Experts of doge mix the tokens of a batch. An ordinary run has one layer less of what a model has more than one of, or another family has, too.
SHORT = {
    "doge": {"num_hidden_layers": 2},
    "flint": {"num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"]},
    "mimo_v2_flash": {"num_hidden_layers": 2},
    "gemma4_text": {"num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "full_attention"], "num_kv_shared_layers": 1},
    "deepseek_v4": {
        "num_hidden_layers": 2, "layer_types": ["compressed_sparse_attention", "heavily_compressed_attention"], "mlp_layer_types": ["hash_moe", "moe"],
    },
}
CHANGES = {family: {**({} if FULL else SHORT.get(family, {})), **({"is_moe": False} if family == "doge" else {})} for family in ("doge", *SHORT)}
# Families that the documentation says compile from plain torch.export.
PLAIN = re.findall(r"`(\w+)`", re.search(r"and give PyTorch's logits:(.*?)\. Others", (ROOT / "docs" / "Export.md").read_text(), re.S)[1])
SHAPES = [(2, 7), (1, 1), (3, 19)]
EXAMPLES = {"deepseek_v4": 2}  # of fewer tokens, the number of blocks would be a constant of PyTorch's graph


@pytest.mark.parametrize("family", [*moe_families(), *DENSE] if FULL else FEW)
def test_family(family, tmp_path):
    generator = torch.Generator().manual_seed(1)
    calls = [torch.randint(3, 100, shape, generator=generator) for shape in SHAPES]
    auto = {dim: torch.export.Dim.AUTO for dim in (0, 1)}
    try:
        module = Logits(small_model(family, **CHANGES.get(family, {})))
        with torch.no_grad():
            program = torch.export.export(module, (calls[EXAMPLES.get(family, 0)],), dynamic_shapes=(auto,), strict=False)
            expected = [module(tokens).numpy() for tokens in calls]
    except Exception as error:  # of many kinds, none of which is this project's
        if family in PLAIN:
            raise
        pytest.skip(f"no graph: {type(error).__name__}: {error}"[:200])
    torch.export.save(program, tmp_path / "model.pt2")
    command = [compiler(), tmp_path / "model.pt2", "-o", tmp_path / "model", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode == 2 and family not in PLAIN:
        assert done.stderr.startswith("moe-compile: error: "), done.stderr
        pytest.skip(done.stderr.strip()[:300])
    assert done.returncode == 0, done.stderr
    executable, graph = Executable(tmp_path / "model"), program.module()
    for tokens, logits in zip(calls, expected, strict=True):
        try:
            [result] = executable.run({"input_ids": tokens.numpy()}).values()
        except Refused:  # a graph of the example's own number of tokens, or of its number of blocks
            assert not takes(graph, tokens)
        else:
            assert_close(result, logits)


def takes(graph, tokens):
    """Whether PyTorch itself runs the graph with so many tokens."""
    try:
        graph(tokens)
    except (AssertionError, RuntimeError):
        return False
    return True
