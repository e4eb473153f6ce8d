"""Layers that stay plain operations: --require, warnings, remarks and the report."""

import json
import re

import pytest
import torch
from compiling import compile_model, expect_error, files

from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.models import tiny_model
from moe_mlir.testing.paths import TINY_MOE

KINDS = "moe,router,attention,norm"


@pytest.mark.parametrize("family", ["mixtral", "qwen3_moe", "olmoe", "tiny-moe"])
def test_models_that_are_raised_wholly(family, tmp_path):
    model = TINY_MOE if family == "tiny-moe" else tiny_model(family)
    export_model(model, tmp_path / "model.pt2", **({"dtype": "float32"} if family == "tiny-moe" else {"max_cache_len": 128}))
    done = compile_model(tmp_path / "model.pt2", "--to=kernel", f"--require={KINDS}", "--progress=none", "-o", tmp_path / "kernel.mlir",
                         f"--report={tmp_path / 'report.json'}")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text())["plain"] == []
    assert "moe.plain" not in (tmp_path / "kernel.mlir").read_text()


class Block(torch.nn.Module):
    """An attention that is written out, and a MoE layer in which every expert runs on every token."""

    def __init__(self):
        super().__init__()
        weight = lambda *shape: torch.nn.Parameter(torch.randn(shape, generator=torch.Generator().manual_seed(0)))  # noqa: E731
        self.router, self.experts = weight(4, 8), weight(4, 8, 8)

    def forward(self, x):
        heads = x.view(1, -1, 2, 4).transpose(1, 2)
        x = ((heads @ heads.transpose(2, 3)).softmax(-1) @ heads).transpose(1, 2).reshape(-1, 8)
        values, ids = torch.nn.functional.linear(x, self.router).softmax(-1).topk(2)
        chosen = torch.zeros(x.shape[0], 4).scatter(1, ids, values)
        return ((x @ self.experts).relu() * chosen.t()[:, :, None]).sum(0)


class Blocks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        return self.layers[1](self.layers[0](x))


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    with torch.no_grad():
        program = torch.export.export(Blocks().eval(), (torch.zeros(5, 8),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), strict=False)
    torch.export.save(program, folder / "blocks.pt2")
    return folder / "blocks.pt2"


MOE = "plain operations and will be slow; step 'products' of the pattern for this one does not match: all 4 experts run on every token"
REASON = ("it is written out as product, softmax and product; only scaled_dot_product_attention is known "
          '(attn_implementation="sdpa" in transformers)')
ATTENTION = f"plain operations and will be slow; step 'call' of the pattern for this one does not match: {REASON}"


def lines_of(done, kind):
    """Without the numbers of lines in this file, and without the node's name behind the module's."""
    lines = [line.partition(f"moe-compile: {kind}: ")[2] for line in done.stderr.splitlines()]
    lines = [re.sub(r"(?:[^ ]*/)?test_require\.py:\d+", "HERE", line) for line in lines if line]
    return [re.sub(r"^HERE \(([^,)]*), \w+\)", r"HERE (\1)", line) for line in lines]


def test_one_warning_for_each_kind(blocks, tmp_path):
    done = compile_model(blocks, "--to=graph", "-o", tmp_path / "graph.mlir")
    assert done.returncode == 0
    assert lines_of(done, "warning") == [f"HERE (layers.0): 2 MoE layers stay {MOE}; -v lists all",
                                         f"HERE (layers.0): 2 attention layers stay {ATTENTION}; -v lists all"]
    # The graph says it as well, wherever it is compiled.
    again = compile_model(tmp_path / "graph.mlir", "--to=kernel", "-o", tmp_path / "kernel.mlir")
    assert lines_of(again, "warning") == lines_of(done, "warning")
    assert compile_model(blocks, "--to=graph", "-q", "-o", tmp_path / "graph.mlir").stderr == ""


def test_remarks(blocks, tmp_path):
    """Of every layer, and of products that are no tiles; the same for an edited graph, but for what the import said."""
    done = compile_model(blocks, "--to=kernel", "-v", "--dump-intermediates", tmp_path, "-o", tmp_path / "kernel.mlir")
    remarks = lines_of(done, "remark")
    for layer in range(2):
        assert f"HERE (layers.{layer}): [Missed] moe: MoE layer stays plain operations; products: all 4 experts run on every token" in remarks
        assert f"HERE (layers.{layer}): [Missed] attention: attention layer stays plain operations; call: {REASON}" in remarks
        assert remarks.count(f"HERE (layers.{layer}): [Missed] Product: a matrix product of plain operations runs as loops, not on "
                             "register tiles") == 3
    again = compile_model(tmp_path / "0_graph.mlir", "--to=graph", "-v", "-o", tmp_path / "graph.mlir")
    assert "HERE (layers.1): MoE layer stays plain operations; products: all 4 experts run on every token" in lines_of(again, "remark")


@pytest.mark.parametrize("kinds, counted", [("moe", f"2 of 2 MoE layers stay {MOE}"), ("attention", f"2 of 2 attention layers stay {ATTENTION}"),
                                            ("norm,attention", f"2 of 2 attention layers stay {ATTENTION}")])
def test_required_and_plain(kinds, counted, blocks, tmp_path):
    done = compile_model(blocks, f"--require={kinds}", "-o", tmp_path / "program", "--dump-intermediates", tmp_path / "ir", "--report")
    expect_error(done, 2, f"--require={kinds.split(',')[-1]}: ", counted)
    assert done.stdout == "" and files(tmp_path) == []
    assert ("  note: --require=norm: " in done.stderr) == ("norm" in kinds)


def test_router_of_a_plain_layer(blocks, tmp_path):
    done = compile_model(blocks, "--require=router", "-o", tmp_path / "program")
    expect_error(done, 2, "the router is not raised, because its MoE layer stays plain operations")
    assert files(tmp_path) == []


def test_required_and_absent(tmp_path):
    (tmp_path / "a.mlir").write_text("""module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x"}) -> (tensor<?x4xf32> {moe.name = "y"}) {
    return %x : tensor<?x4xf32>
  }
}
""")
    for kind, words in (("moe", "MoE layer"), ("router", "router"), ("attention", "attention layer"), ("norm", "norm")):
        expect_error(compile_model(tmp_path / "a.mlir", f"--require={kind}", "-o", tmp_path / "b"), 2,
                     f"--require={kind}: '{tmp_path / 'a.mlir'}' has no {words}")
    assert compile_model(tmp_path / "a.mlir", "--to=kernel", "-o", tmp_path / "kernel.mlir").returncode == 0
    expect_error(compile_model(tmp_path / "kernel.mlir", "--require=moe", "-o", tmp_path / "b"), 1,
                 "--require looks at levels graph, spmd and scheduled", "is at level kernel")
    assert files(tmp_path) == ["a.mlir", "kernel.mlir"]


def test_other_words(tmp_path):
    done = compile_model(tmp_path / "a.mlir", "--require=mlp")
    assert done.returncode == 1 and "'mlp' is no value of --require; one of moe, router, attention, norm" in done.stderr
    text = compile_model("--help").stdout
    assert all(f"={kind} " in text for kind in KINDS.split(","))


def test_report(blocks, tmp_path):
    done = compile_model(blocks, "--to=kernel", "-q", "-o", tmp_path / "kernel.mlir", f"--report={tmp_path / 'report.json'}")
    assert done.returncode == 0, done.stderr
    plain = json.loads((tmp_path / "report.json").read_text())["plain"]
    assert [(layer["kind"], layer["layer"], layer["step"]) for layer in plain] == [
        ("attention", "layers.0", "call"), ("moe", "layers.0", "products"), ("attention", "layers.1", "call"), ("moe", "layers.1", "products")]
    assert plain[1]["reason"] == "all 4 experts run on every token" and re.fullmatch(r"(?:.*/)?test_require\.py:\d+", plain[1]["place"])
    # Also of a graph that was written before.
    compile_model(blocks, "--to=graph", "-q", "-o", tmp_path / "graph.mlir")
    done = compile_model(tmp_path / "graph.mlir", "--to=kernel", "-q", "-o", tmp_path / "kernel.mlir", "--report")
    [*_, title, first, second, third, fourth] = done.stdout.splitlines()
    assert re.split(r"  +", title) == ["plain operations", "layer", "place", "step that does not match"]
    kind, layer, place, why = re.split(r"  +", second)
    assert (kind, layer, why) == ("MoE layer", "layers.0", "products: all 4 experts run on every token")
    assert place == plain[1]["place"]


def test_layers_for_a_gpu(blocks, tmp_path):
    """What is not raised cannot be extracted: the warning tells why."""
    done = compile_model(blocks, "--entry=layers", "--to=graph", "-o", tmp_path / "layers.mlir", "--progress=none")
    assert done.returncode == 2 and "@main has no MoE layer (moe.combine) to extract" in done.stderr
    assert lines_of(done, "warning")[0] == f"HERE (layers.0): 2 MoE layers stay {MOE}; -v lists all"
