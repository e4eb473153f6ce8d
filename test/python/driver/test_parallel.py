"""--parallel: what it makes of level spmd, and the faults that it may have."""

import re

import pytest

from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.models import tiny_model

from compiling import compile_model, expect_error, files
from readme import ROOT

(LAYER,) = re.findall(r"^```mlir\n(module .*?)^```", (ROOT / "docs" / "Compiler.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def layer(tmp_path):
    path = tmp_path / "in" / "layer.mlir"
    path.parent.mkdir()
    path.write_text(LAYER)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    export_model(tiny_model("mixtral"), folder / "model.pt2", max_cache_len=128)
    return folder / "model.pt2"


def spmd(source, *flags):
    done = compile_model(source, "--to=spmd", "-o", "-", "-q", "--weights=none", *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


FAULTS = [
    ("tokens=split", "there is no number of ranks: ep=4 for ranks that share the experts, etp=2 for ranks that share each expert, "
     "tp=2 for ranks that share attention and dense layers, dp=2 for ranks that share the batch"),
    ("dp=0", "dp must be a number of ranks, at least 1, got '0'"),
    ("dp=two", "dp must be a number of ranks, at least 1, got 'two'"),
    ("etp=3", "etp must be a power of two, got '3'"),
    ("dp=3,ep=4096,etp=8", "these are more than 65536 ranks"),
    ("ep=3", "ep must be a power of two, got '3'"),
    ("ep=0", "ep must be a power of two, got '0'"),
    ("ep=-2", "ep must be a power of two, got '-2'"),
    ("ep=", "ep must be a power of two, got ''"),
    ("ep=2,groups=6", "groups must be a power of two, got '6'"),
    ("ep=8,nodes=0", "nodes must be a number of nodes, at least 1, got '0'"),
    ("ep=8,nodes=3", "nodes=3 does not divide ep=8 equally"),
    ("dp=2,nodes=2", "nodes=2 does not divide ep=1 equally"),
    ("ep=9,nodes=3", "a node has 3 of ep=9 ranks with nodes=3, but must have a power of two"),
    ("ep=3,nodes=3", "a node has 1 of ep=3 ranks with nodes=3, but must have a power of two, more than one where nodes are no power of two"),
    ("ep=4,nodes=2,tokens=replicated", "nodes=2 is for tokens that travel to their experts, and with tokens=replicated each rank has all of them; leave nodes out"),
    ("ep=6,nodes=3,groups=18", "groups=18 must be ep=6 times a power of two"),
    ("ep=8,groups=4", "groups=4 is less than ep=8, but each rank sums at least one group"),
    ("ep=2,tokens=both", "tokens must be split or replicated, got 'both'"),
    ("ep=2,pp=2", "unknown field 'pp'; one of dp, ep, nodes, etp, tp, tokens, groups, sums, experts"),
    ("tp=3", "tp must be a power of two, got '3'"),
    ("tp=2,etp=4", "tp=2 and etp=4 do not fit: the ranks that share attention and dense layers are those that share each expert, "
     "so give both one number, or leave one out"),
    ("ep=2,sums=f16", "sums must be f32 or bf16, got 'f16'"),
    ("ep=2,ep=4", "ep is given twice"),
    ("ep=2,experts=", "experts: '': No such file or directory"),
    ("ep=2,experts=orders{0}.json", "experts must be the name of a file without quotes and braces"),
    ("ep=2,", "expected fields as in ep=4,tokens=split,groups=8, got ''"),
    ("2", "expected fields as in ep=4,tokens=split,groups=8, got '2'"),
]


@pytest.mark.parametrize("spec,text", FAULTS)
def test_faults(spec, text, layer):
    process = compile_model(layer, f"--parallel={spec}", "-o", layer.parent / "out", "--weights=none")
    expect_error(process, 1, f"--parallel={spec}: {text}; see moe-compile --help")
    assert len(process.stderr.splitlines()) == 1 and files(layer.parent) == ["layer.mlir"]


def test_experts_from_a_file_with_blanks(layer):
    table = layer.parent / "two experts.json"
    table.write_text("[1, 0, 2, 3, 4, 5, 6, 7]")
    assert "#order = #moe.order<[1, 0, 2, 3, 4, 5, 6, 7]>" in spmd(layer, f"--parallel=ep=2,experts={table}")


def test_empty(layer):
    expect_error(compile_model(layer, "--parallel="), 1, "the value of --parallel is empty; see moe-compile --help")


def test_a_level_that_is_not_reached(layer):
    expect_error(compile_model(layer, "--parallel=ep=2", "--to=graph"), 1, "--parallel makes level spmd, which --to=graph does not reach")


def test_experts_that_cannot_be_divided(layer):
    process = compile_model(layer, "--parallel=ep=16", "-o", layer.parent / "out", "--weights=none", "--progress=none")
    expect_error(process, 1, "layer.mlir:10: 'moe.dispatch' op cannot be divided: ep=16 does not divide a layer of 8 experts equally")
    assert files(layer.parent) == ["layer.mlir"]


@pytest.mark.parametrize("table,text", [
    ("[1, 0]", "orders 2 experts, but layer '"),
    ('{"physical_to_logical_map": []}', "has no row in physical_to_logical_map for layer '"),
    ('{"nobody": [1, 0, 2, 3, 4, 5, 6, 7]}', "orders the experts of 'nobody', which is no layer of this program"),
])
def test_tables_of_experts_that_do_not_fit(layer, table, text):
    """Whether the file alone or the program says so: it is the caller's fault."""
    path = layer.parent / "table.json"
    path.write_text(table)
    process = compile_model(layer, f"--parallel=ep=2,experts={path}", "-o", layer.parent / "out", "--weights=none", "--progress=none")
    assert process.returncode == 1 and text in process.stderr and str(path) in process.stderr, process.stderr


def test_a_table_of_experts_that_orders_nothing(layer):
    path = layer.parent / "table.json"
    path.write_text("{}")
    process = compile_model(layer, f"--parallel=ep=2,experts={path}", "-o", layer.parent / "out", "--weights=none", "--progress=none")
    assert process.returncode == 0 and f"'{path}' orders no layer: the experts of all stand by number" in process.stderr, process.stderr


def test_without_the_flag_nothing_is_divided(layer):
    text = spmd(layer)
    assert "@ep" not in text and "sum(" not in text
    assert text.replace('"spmd"', '"graph"') == compile_model(layer, "--to=graph", "-o", "-", "-q", "--weights=none").stdout


def test_one_rank_sums_as_several(layer):
    text = spmd(layer, "--parallel=ep=1")
    assert "@ep" not in text and text.count("sum(<tree, groups = 8>)") == 1


def test_tokens(layer):
    split, all_tokens = spmd(layer, "--parallel=ep=2"), spmd(layer, "--parallel=ep=2,tokens=replicated,groups=4")
    assert split == spmd(layer, "--parallel=ep=2,tokens=split,groups=8")
    assert split.count("moe.split = @ep") == 2 and split.count("moe.all_to_all") == 2
    assert "moe.split" not in all_tokens and all_tokens.count("shard.all_reduce") == 1
    assert "sum(<tree, groups = 2>)" in all_tokens


def test_several_grids(layer):
    """The order of fields says nothing; ranks are numbered in one order."""
    text = spmd(layer, "--parallel=dp=3,ep=2,etp=4")
    assert re.findall(r"shard.grid @(\w+)\(shape = (\d)\)", text) == [("dp", "3"), ("ep", "2"), ("etp", "4")]
    assert text.count("moe.split = [@dp, @ep]") == 2 and text.count("shard.all_reduce") == 1
    assert text == spmd(layer, "--parallel=etp=4,ep=2,dp=3")
    alone = spmd(layer, "--parallel=dp=3")
    assert alone.count("moe.split = @dp") == 2 and "sum(<tree, groups = 8>)" in alone and "#moe.shard" not in alone


def test_a_level_by_hand(layer):
    """The text of a divided program compiles without the flag, which would have no effect on it."""
    text = spmd(layer, "--parallel=ep=2")
    edited = layer.parent / "edited.mlir"
    edited.write_text(text.replace("sum(<tree, groups = 4>)", "sum(<tree, groups = 2>)"))
    done = compile_model(edited, "--to=scheduled", "-o", "-", "-q")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("moe.all_to_all") == done.stdout.count("sum(<tree, groups = 2>)") == 2
    process = compile_model(edited, "--parallel=ep=2", "--to=scheduled", "-o", "-")
    expect_error(process, 1, f"--parallel divides a program of level graph among ranks; '{edited}' is at level spmd already, and runs "
                 "on the ranks that it names")


def test_a_graph_names_no_ranks(layer):
    layer.write_text(spmd(layer, "--parallel=ep=2").replace('"spmd"', '"graph"'))
    process = compile_model(layer, "--to=spmd", "-o", "-", "--progress=none")
    assert process.returncode == 2 and "level graph: 'shard.grid' is not an op of this level" in process.stderr


def test_models(model, tmp_path):
    """A model divides its batch; of its layers each is divided by itself, on one grid."""
    whole = spmd(model, "--parallel=ep=2")
    (line,) = re.findall(r"^  func.func @main.*", whole, re.M)
    assert re.search(r'"batch", "seq"\], moe.name = "input_ids",.*?moe.split = @ep', line) and line.count("moe.split = @ep") == 3
    assert "moe.state, moe.split" not in line and "moe.split = @ep, moe.state" not in line
    layers = spmd(model, "--parallel=ep=4", "--entry=layers")
    assert layers.count("shard.grid") == 1 and layers.count("func.func @layer") == 3 == layers.count("moe.split = @ep}) {")


def test_remarks(layer):
    done = compile_model(layer, "--parallel=ep=2", "--to=spmd", "-o", "-", "-v", "--weights=none")
    assert "4 of 8 experts on each of 2 ranks; a token has at most 2 rows, each with 140 bytes there and 256 back" in done.stderr
