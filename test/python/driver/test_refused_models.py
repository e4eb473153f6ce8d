"""Models and weights that moe-compile refuses: one message, the right exit code, nothing written."""

import json
import re

import pytest

from compiling import INPUTS, compile_model, expect_error, files, pack, refuse

@pytest.mark.parametrize("content", [b"", b"text\n", b"\x80\x02}q\x00."])
def test_not_a_pt2(content, tmp_path):
    (tmp_path / "a.pt2").write_bytes(content)
    refuse(tmp_path / "a.pt2", 1, "a.pt2: not a .pt2 file (it does not start like a zip archive)")


def test_missing_file_and_folder(tmp_path):
    refuse(tmp_path / "a.pt2", 1, "a.pt2: No such file or directory")
    (tmp_path / "a.pt2").mkdir()
    refuse(tmp_path / "a.pt2", 1, "a.pt2: is a folder; a .pt2 file is expected")


NODE = "program.graph_module.graph.nodes.0"

META = '{"dtype": %d, "sizes": [{"as_expr": {"expr_str": "s0"}}, {"as_int": 2}]}'
CHANGES = {
    "truncated": (1, "the archive is truncated (no end record)", "truncate", 1),
    "schema version": (2, "graph: schema version 9 is not supported; version 8 is", "set", "program.schema_version.major", 9),
    "AOTInductor": (2, "was made by AOTInductor and holds compiled code instead of a graph",
                    "rename", "models/model.json", "model/data/aotinductor/model/x.so"),
    "pickled program": (2, "has the older layout with pickled weights; save it again with torch.export.save",
                        "rename", "models/model.json", "model/serialized_exported_program.json"),
    "pickled weights": (2, "tensor 'proj.weight' is pickled; a pickle can run code and is never loaded", "pickle", "proj.weight"),
    "tensor without data": (1, "the data of tensor 'proj.weight' is missing (no entry 'data/weights/weight_0')",
                            "drop", "data/weights/weight_0"),
    "tensor not listed": (1, "tensor 'proj.weight' is missing (no table of the archive has it)", "set", "weights", "{}"),
    "tensor too short": (1, "tensor 'proj.weight' needs element 5 of its data, but the archive holds only 20 bytes",
                         "shorten", "data/weights/weight_0", 20),
    "tensor of another dtype": (1, "tensor 'proj.weight' is declared as tensor<3x2xf32> in the graph, but the archive holds "
                                "tensor<3x2xbf16>", "set", "weights", '{"proj.weight": [13, [3, 2]]}'),
    "tensor of another shape": (1, "tensor 'proj.weight' is declared as tensor<3x2xf32> in the graph, but the archive holds "
                                "tensor<2x3xf32>", "set", "weights", '{"proj.weight": [7, [2, 3]]}'),
    "dtype of a weight": (2, "tensor 'proj.weight' has dtype complex32, which is not supported: have the model compute with real and imaginary parts",
                          "set", "weights", '{"proj.weight": [9, [3, 2]]}'),
    "quantised weight": (2, "tensor 'proj.weight' has dtype float8_e4m3fn, which is not supported",
                         "set", "weights", '{"proj.weight": [29, [3, 2]]}'),
    "quantised value": (2, "graph: node 'linear' (torch.ops.aten.linear.default) at model.py:7: value 'linear' has dtype uint8, which is not supported",
                        "set", "program.graph_module.graph.tensor_values.linear.dtype", 1),
    "dtype of a value": (2, "model.py:8 (sum): 'aten.isnan.default' of complex numbers is not supported; known are products",
                         "set", "program.graph_module.graph.nodes.0.target", '"torch.ops.aten.polar.default"',
                         "set", "program.graph_module.graph.nodes.0.inputs.0.name", '"abs"',
                         "set", "program.graph_module.graph.nodes.0.inputs.1",
                         '{"name": "angle", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}',
                         "set", "program.graph_module.graph.nodes.1.target", '"torch.ops.aten.isnan.default"',
                         "set", "program.graph_module.graph.tensor_values.linear", META % 10,
                         "set", "program.graph_module.graph.tensor_values.sum", META % 12),
}


@pytest.mark.parametrize("name", CHANGES)
def test_refused_archive(name, tmp_path):
    code, text, *change = CHANGES[name]
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), code, f"{tmp_path}/a.pt2: {text}")


def test_unknown_operator(tmp_path):
    """The report names the operator, how often it occurs and the line of the model that calls it first."""
    source = pack(tmp_path / "a.pt2", "tiny.json", "set", f"{NODE}.target", '"torch.ops.aten.fft_fft.default"')
    printed = refuse(source, 2, "1 call(s) of 1 operator(s) are not supported; see docs/Ops.md for what is")
    assert "note: model.py:7 (proj, linear): aten.fft_fft.default (1)\n" in printed


def test_unknown_activation(tmp_path):
    nodes = json.loads((INPUTS / "mixtral.json").read_text())["program"]["graph_module"]["graph"]["nodes"]
    node = next(i for i, node in enumerate(nodes) if "moe_mlir.experts" in node["target"])
    argument = next(i for i, argument in enumerate(nodes[node]["inputs"]) if argument["name"] == "activation")
    place = f"program.graph_module.graph.nodes.{node}.inputs.{argument}.arg.as_string"
    printed = refuse(pack(tmp_path / "a.pt2", "mixtral.json", "set", place, '"swish9"'), 2, "1 call(s) of 1 operator(s)")
    name = nodes[node]["name"]
    assert f"(model.model.layers.0.mlp.experts, {name}): moe_mlir.experts.default (1), activation = 'swish9'\n" in printed


def test_damaged_weights(tmp_path):
    """The checksum of each tensor's data is looked at when its weights are laid out."""
    source = pack(tmp_path / "a.pt2", "tiny.json", "set", "data", '{"proj.weight": "%s"}' % ("11" * 24))
    content = source.read_bytes()
    assert content.count(b"\x11" * 24) == 1
    source.write_bytes(content.replace(b"\x11" * 24, b"\x11" * 23 + b"\x10"))
    refuse(source, 1, "the data of tensor 'proj.weight' is damaged (checksum differs)")


@pytest.fixture
def dumped(tmp_path):
    """A module at graph level beside the .pt2 that it names."""
    source = pack(tmp_path / "a.pt2", "tiny.json")
    process = compile_model(source, "--to=graph", "-o", tmp_path / "a.mlir", "-q")
    assert process.returncode == 0, process.stderr
    return tmp_path / "a.mlir"


def test_weights_that_changed(dumped):
    pack(dumped.with_suffix(".pt2"), "tiny.json", "set", "data.one", '"00000040"')
    printed = refuse(dumped, 1, "a.pt2' has changed: its content id is", "the module names")
    assert "note: to use these weights all the same, name them with --weights" in printed


def test_weights_that_moved(dumped):
    dumped.with_suffix(".pt2").rename(dumped.parent / "b.pt2")
    printed = refuse(dumped, 1, "a.pt2: No such file or directory")
    assert "note: the module names this file; if it moved, give its new place with --weights" in printed


def test_module_that_names_no_weights(dumped):
    text, count = re.subn(r", moe\.weights = \{[^}]*\}", "", dumped.read_text())
    assert count == 1
    dumped.write_text(text)
    refuse(dumped, 1, "the module has parameters but no moe.weights attribute: give the file with --weights")


def test_edited_table_of_parameters(dumped):
    runtime = dumped.parent / "runtime.mlir"
    process = compile_model(dumped, "--to=runtime", "-o", runtime, "-q")
    assert process.returncode == 0, process.stderr
    assert 'key = "' in runtime.read_text()
    runtime.write_text(runtime.read_text().replace('key = "', 'keys = "'))
    refuse(runtime, 1, "malformed entry of moert.program's parameters")


@pytest.mark.parametrize("change,text", [
    (["set", "weights", "{}"], "has no weight named 'proj.weight'"),
    (["set", "weights", '{"proj.weight": [13, [3, 2]]}'], "parameter 'proj.weight': the program expects"),
    (["set", "weights", '{"proj.weight": [7, [3, 4]]}'], "parameter 'proj.weight': the program expects")])
def test_weights_of_another_model(change, text, dumped):
    other = pack(dumped.parent / "other.pt2", "tiny.json", *change)
    before = files(dumped.parent)
    process = compile_model(dumped, "-o", dumped.parent / "out", f"--weights={other}", "--progress=none")
    expect_error(process, 1, text)
    assert files(dumped.parent) == before


def test_folders_and_files_in_each_others_place(dumped, tmp_path):
    (tmp_path / "folder").mkdir()
    before = files(tmp_path)
    for flags, text in [
        (["-o", tmp_path / "folder"], f"cannot write '{tmp_path}/folder': it is a folder"),
        (["-o", dumped / "b"], f"cannot write '{dumped}/b': there is no folder '{dumped}'"),
        (["-o", tmp_path / "b", f"--weights={tmp_path}/folder"], "folder: is a folder; a .pt2 file is expected"),
        (["-o", tmp_path / "b", f"--dump-intermediates={dumped}"], f"cannot create folder '{dumped}': Not a directory"),
    ]:
        expect_error(compile_model(dumped, *flags, "--progress=none"), 1, text)
        assert files(tmp_path) == before
