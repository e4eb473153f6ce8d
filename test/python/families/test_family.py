"""Families of transformers as tiny models: exported with their caches, compiled, equal to PyTorch, all layers raised.

Eight of different kinds; all of them in `scripts/test --full`. None is worse than docs/Families.md says.
"""

import pytest

from moe_mlir.testing.families import moe_families
from moe_mlir.testing.families.cycle import run_family
from moe_mlir.testing.families.page import STATES, lines_of, page, state
from moe_mlir.testing.full import FULL
from moe_mlir.testing.paths import ROOT

# Gates of different kinds, sliding windows, shared experts, dense layers beside sparse ones, heads by layer, latent attention, a recurrence with
# its convolution, sinks, experts that transformers' registry cannot replace, an activation of its own. One with an indexer is in export/test_indexers.py.
FEW = ["nemotron_h", "ernie4_5_moe", "phimoe", "kolibri1", "deepseek_v3", "laguna", "gpt_oss", "qwen2_moe", "hunyuan_v1_moe",
       "dbrx", "beam"]
# An ordinary run compiles models of these with PyTorch beside them in other tests: export/test_latent_attention.py, ranks/test_shared_experts.py, and
# export/test_expert_modules.py.
ELSEWHERE = ["deepseek_v3", "qwen2_moe", "dbrx"]
PAGE = ROOT / "docs" / "Families.md"


@pytest.mark.parametrize("family", moe_families() if FULL else [family for family in FEW if family not in ELSEWHERE])
def test_family(family, tmp_path):
    row = run_family(family, tmp_path)
    expected = lines_of(PAGE.read_text())[family]["state"]
    assert STATES.index(state(row)) >= STATES.index(expected), row["missing"]
    assert not any("ended by signal" in line or "ended with code" in line for line in row["missing"])
    if family in FEW:
        assert row["equal"], row["missing"]


def test_page_has_every_family():
    """Of the library's version that it was written with."""
    lines = lines_of(PAGE.read_text())
    assert list(lines) == moe_families()
    states = [line["state"] for line in lines.values()]
    assert sum(state != "no" for state in states) >= 52 and states.count("equal, raised") >= 48


def test_page_is_read_as_it_is_written():
    rows = [{"family": "a", "equal": True, "raised": False, "layers": {"gates": 1, "attention": 2}, "expected": {"gates": 2, "attention": 2},
             "missing": ["1 router plain, choice: a | b <c>"]},
            {"family": "b", "equal": False, "raised": False, "layers": {}, "expected": {"gates": 3}, "missing": ["no"]}]
    text = page(rows[:1], before=page([{**rows[0], "equal": False}, rows[1]]))
    assert text == page(rows)
    assert "2 families: 1 equal PyTorch with their caches, 0 of them fully raised." in text
    assert lines_of(text) == {
        "a": {"state": "equal, in part raised", "gates": "1/2", "experts": "", "attention": "2/2", "scans": "", "convolutions": "",
              "what is missing": "1 router plain, choice: a \\| b \\<c>"},
        "b": {"state": "no", "gates": "–/3", "experts": "", "attention": "", "scans": "", "convolutions": "", "what is missing": "no"},
    }
