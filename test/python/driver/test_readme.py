"""The commands of the README's tour do what it says."""

import re

import pytest

from readme import ROOT, blocks, run_blocks

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    if not (ROOT / "examples" / "tiny-moe" / "model.safetensors").is_file():
        pytest.skip("the example model is not trained here")
    return run_blocks(README, tmp_path_factory.mktemp("tour"))


def test_both_programs_write_text_and_the_edit_changes_it(tour):
    texts = [output for block, output in zip(blocks(README), tour) if "--generate" in block]
    assert len(texts) == 2 and all(len(text) > 30 for text in texts)
    assert texts[0][:30] != texts[1][:30]


def test_levels_read_as_described(tour):
    (graph,) = [output for block, output in zip(blocks(README), tour) if "grep" in block]
    for op in ("moe.gate", "moe.dispatch", "moe.expert"):
        assert op in graph
    (kernel,) = [output for block, output in zip(blocks(README), tour) if "3_kernel.mlir" in block]
    # In this order: experts and column blocks, row tiles, K, the product, the activation.
    steps = ("scf.forall", "scf.for", "kernel.row_tile", "scf.for", "kernel.mma", "kernel.store_tile", "math.exp", "kernel.return")
    assert re.search(".*".join(map(re.escape, steps)), kernel, re.DOTALL)
    assert kernel.count("kernel.func") == 1, "one layer's first product; the layers share it"


def test_report_names_layers_and_kernels(tour):
    report = next(output for block, output in zip(blocks(README), tour) if "--report" in block)
    assert re.search(r"^prefill: batch = 1, seq = 128,", report, re.MULTILINE)
    assert re.search(r"^model\.model\.layers\.0 ", report, re.MULTILINE) and "attention_4x32_group2_f32" in report


def test_links_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (ROOT / target).exists(), target
