"""Texts in a .pt2 that are not what they should be: tables of tensors, the graph, the extra file."""

import json

import pytest

from compiling import pack, refuse

TABLE = "data/weights/model_weights_config.json"
MODULE = "program.graph_module"
NODE = f"{MODULE}.graph.nodes.0"
LINEAR = "graph: node 'linear' (torch.ops.aten.linear.default) at model.py:7: "


def table(record):
    return ["text", TABLE, json.dumps({"config": {"proj.weight": record}})]


TABLES = [
    (["text", TABLE, "{}"], "tensor table of data/weights/ has no 'config'"),
    (table(3), "tensor table of data/weights/: 'proj.weight' is not an object"),
    (table({}), "tensor table of data/weights/: 'proj.weight' has no path_name or tensor_meta"),
    (table({"path_name": "weight_0", "tensor_meta": {"dtype": 7, "sizes": [{"as_expr": {}}], "strides": [],
                                                     "storage_offset": {"as_int": 0}}}),
     "tensor table of data/weights/: 'proj.weight' has no plain sizes, strides or offset"),
    (["set", "constants", '{"one": [7, []], "proj.weight": [7, [3, 2]]}'], "two tables have a tensor 'proj.weight'"),
]

GRAPHS = [
    (["text", "models/model.json", "[]"], "graph: not an object"),
    (["text", "models/model.json", '{"a'], "graph: a string does not end at byte 1"),
    (["text", "models/model.json", "{}]"], "graph: unbalanced bracket at byte 2"),
    (["text", "models/model.json", '{"a": "\\\\'], "graph: a string does not end at byte 6"),
    (["text", "models/model.json", '{"a": -Infinity}'], "graph: NaN and Infinity are not JSON at byte 7"),
    (["text", "models/model.json", '{"a": 1e309}'], "graph: [1:6, byte=6]: Invalid JSON value (number?)"),
    (["text", "models/model.json", '{"b": 0, "a" : 1, "a" : 2}'], "graph: the key 'a' occurs twice in one object at byte 22"),
    (["text", "models/model.json", '{"\\u0061": 1, "a": 2}'], "graph: the key 'a' occurs twice in one object at byte 21"),
    (["text", "models/model.json", '{"a": 1, "\\u0061": 2}'], "graph: the key 'a' occurs twice in one object at byte 21"),
    (["set", MODULE, "{}"], "graph: no graph or signature"),
    (["set", f"{MODULE}.signature.input_specs", "3"], "graph: the signature has no input_specs"),
    (["set", f"{MODULE}.signature.input_specs.0", "3"], "graph: unreadable input spec"),
    (["set", f"{MODULE}.signature.input_specs.0", '{"parameter": {"arg": {"name": "p_w"}}}'], "graph: an input spec has no name"),
    (["set", f"{MODULE}.signature.output_specs", "3"], "graph: the signature has no output_specs"),
    (["set", f"{MODULE}.signature.output_specs.0", '{"buffer_mutation": {"arg": {"name": "sum"}, "buffer_name": "b"}}'],
     "graph: the signature changes 'b', which is no input"),
    (["set", f"{MODULE}.graph.nodes", "{}"], "graph: no nodes"),
    (["set", NODE, "3"], "graph: a node is not an object"),
    (["set", f"{NODE}.inputs", "3"], f"{LINEAR}no target or inputs"),
    (["set", f"{NODE}.inputs.0", "{}"], f"{LINEAR}an argument has no name or value"),
    (["set", f"{NODE}.inputs.0.arg", '{"as_int": "x"}'], f"{LINEAR}unreadable argument of kind 'as_int'"),
    (["set", f"{NODE}.inputs.0.arg", '{"as_int": "NaN"}'], f"{LINEAR}unreadable argument of kind 'as_int'"),
    (["set", f"{MODULE}.graph.tensor_values.x.sizes.1", '{"as_int": "NaN"}'], "graph: value 'x' has a size that is no number"),
    (["set", f"{NODE}.outputs", "3"], f"{LINEAR}no outputs"),
    (["set", f"{NODE}.outputs.0", '{"as_tensor": {}}'], f"{LINEAR}an output has no name"),
    (["set", f"{NODE}.outputs.0", '{"as_sym_int": {}}'], f"{LINEAR}an output has no name"),
    (["set", f"{MODULE}.graph.tensor_values", "{}"], "graph: no type for value 'x'"),
    (["set", f"{MODULE}.graph.tensor_values.x.sizes.1", '{"as_int": -1}'], "graph: value 'x' has a size that is no number"),
]

UNSUPPORTED = [
    (["text", "models/other.json", "{}"], "holds 2 graphs; export one at a time"),
    (["set", f"{MODULE}.signature.input_specs.2", '{"token": {"arg": {"name": "t"}}}'],
     "graph: inputs of kind 'token' are not supported"),
    (["set", f"{MODULE}.signature.input_specs.2", '{"user_input": {"arg": {"as_int": 3}}}'],
     "graph: an input is neither a tensor nor a symbolic integer"),
    (["set", f"{MODULE}.signature.output_specs.0", '{"token": {"arg": {"name": "sum"}}}'],
     "graph: outputs of kind 'token' that are not tensors are not supported"),
    (["set", f"{NODE}.outputs.0", '{"as_complex": {}}'], f"{LINEAR}outputs of kind 'as_complex' are not supported"),
    (["set", f"{NODE}.inputs.2.arg", '{"as_scalar_type": 10}'], f"{LINEAR}dtype number 10 is not supported"),
]

EXTRAS = [
    (["set", "extra", "3"], "extra/moe_mlir.json is not an object"),
    (["set", "extra.cache_length", "-1"], "extra/moe_mlir.json: cache_length and vocab_size cannot be negative"),
    (["set", "extra.eos", '["x"]'], "extra/moe_mlir.json: 'eos' is a list of token ids"),
    (["set", "extra.states", "[3]"], "extra/moe_mlir.json: 'states' is a list of input names"),
]


@pytest.mark.parametrize("change,text", TABLES + GRAPHS)
def test_malformed(change, text, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), 1, f"a.pt2: {text}")


@pytest.mark.parametrize("change,text", UNSUPPORTED)
def test_unsupported(change, text, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), 2, f"a.pt2: {text}")


@pytest.mark.parametrize("change,text", EXTRAS)
def test_malformed_extra_file(change, text, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "mixtral.json", *change), 1, f"a.pt2: {text}")
