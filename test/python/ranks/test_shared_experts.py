"""Models with experts that all tokens share, beside those that ranks divide: graphs as plain torch.export writes them."""

import pytest
import torch

from moe_mlir.errors import Error
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.families import Logits, small_model
from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

FAMILIES = ["qwen2_moe", "deepseek_v3"] if FULL else ["qwen2_moe"]
SHAPES = [(2, 7), (1, 3), (3, 5)]


@pytest.mark.parametrize("family", FAMILIES)
def test_same_bits(family, tmp_path):
    module = Logits(small_model(family, num_hidden_layers=2))
    assert any("shared_expert" in name for name, _ in module.named_parameters())
    generator = torch.Generator().manual_seed(1)
    tokens = [torch.randint(3, 100, shape, generator=generator) for shape in SHAPES]
    auto = {dim: torch.export.Dim.AUTO for dim in (0, 1)}
    with torch.no_grad():
        graph = torch.export.export(module, (tokens[0],), dynamic_shapes=(auto,), strict=False)
        expected = [module(each).numpy() for each in tokens]
    torch.export.save(graph, tmp_path / "model.pt2")
    calls = [{"input_ids": each.numpy()} for each in tokens]
    one = outputs_of(compile_for(tmp_path / "model.pt2", tmp_path / "one", 1), 1, calls, tmp_path / "expected")
    for result, logits in zip(one, expected, strict=True):
        [actual] = result.values()
        assert_close(actual, logits)
    # These graphs compute their mask with the numbers of rows, so that no rank can have a part of the batch.
    with pytest.raises(Error, match="cannot be divided among ranks; use tokens=replicated"):
        compile_for(tmp_path / "model.pt2", tmp_path / "split", 2, tokens="split")
    program = compile_for(tmp_path / "model.pt2", tmp_path / "two", 2, tokens="replicated")
    assert_same_bits(outputs_of(program, 2, calls, tmp_path / "actual"), one)
    # Ranks that share attention share the hidden columns of these experts, too.
    program = compile_for(tmp_path / "model.pt2", tmp_path / "shared", "tp=2,etp=2,tokens=replicated")
    for result, expected in zip(outputs_of(program, 2, calls, tmp_path / "close"), one, strict=True):
        assert_close(*result.values(), *expected.values(), bound=1e-5)
