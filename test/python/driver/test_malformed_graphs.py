"""Texts in a .pt2 that are not what they should be: tables of tensors, the graph, the extra file."""

import json
import subprocess

import pytest

from compiling import compile_model, pack, refuse

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
    (["set", "program.schema_version", '{"major": 8}'], "graph: the schema version has no minor number"),
]


def both(what, number, value):
    """Sets an input or output of the graph and what its signature says of it."""
    kind = f"user_{what}"
    return ["set", f"{MODULE}.graph.{what}s.{number}", value, "set", f"{MODULE}.signature.{what}_specs.{number}",
            f'{{"{kind}": {{"arg": {value}}}}}']


def named(name):
    return f'{{"as_tensor": {{"name": "{name}"}}}}'


STATE = ["set", f"{MODULE}.signature.input_specs.1", '{"buffer": {"arg": {"name": "c_one"}, "buffer_name": "one"}}']
CHANGE = '{"buffer_mutation": {"arg": {"name": "sum"}, "buffer_name": "one"}}'
SUM = "graph: node 'sum' (torch.ops.aten.add.Tensor) at model.py:8: "

# Every name stands for one value, and the signature speaks of the inputs and outputs that the graph has.
NAMES = [
    (["set", f"{MODULE}.graph.nodes.1.outputs.0", named("linear")],
     f"{SUM}it defines 'linear', which an input or an earlier node defines"),
    (["set", f"{NODE}.outputs.0", named("x")], f"{LINEAR}it defines 'x', which an input or an earlier node defines"),
    (["set", f"{NODE}.inputs.0.arg", named("sum")], f"{LINEAR}value 'sum' is used before it is defined"),
    (["set", f"{NODE}.inputs.0.arg", named("linear")], f"{LINEAR}value 'linear' is used before it is defined"),
    (both("input", 1, named("x")), "graph: two inputs are named 'x'"),
    (["set", f"{MODULE}.graph.inputs.2", named("y")], "graph: 'y' is one of its inputs, for which its signature has 'x'"),
    (["set", f"{MODULE}.graph.inputs.", named("y")], "graph: it has 4 inputs, its signature 3"),
    (["set", f"{MODULE}.graph.inputs", "3"], "graph: no list of inputs"),
    (["set", f"{MODULE}.graph.outputs.0", named("linear")],
     "graph: 'linear' is one of its outputs, for which its signature has 'sum'"),
    (["set", f"{MODULE}.graph.outputs.", named("linear")], "graph: it has 2 outputs, its signature 1"),
    (both("output", 0, named("y")), "graph: no input and no node defines the output 'y'"),
    (["set", f"{MODULE}.graph.outputs", "[]", "set", f"{MODULE}.signature.output_specs", "[]"],
     "graph: it has no output, so there is nothing to compute"),
    (both("output", 0, '{"as_none": true}'), "graph: it has no output, so there is nothing to compute"),
    ([*STATE, "set", f"{MODULE}.graph.outputs", f"[{named('sum')}, {named('sum')}]", "set",
      f"{MODULE}.signature.output_specs", f"[{CHANGE}, {CHANGE}]"], "graph: two outputs change 'one'"),
    ([*STATE, "set", f"{MODULE}.graph.tensor_values.c_one.sizes", '[{"as_int": 1}]', "set", "constants", '{"one": [7, [1]]}', "set",
      f"{MODULE}.signature.output_specs", f"[{CHANGE}]"],
     "graph: the signature changes 'one' from tensor<1xf32> to tensor<?x3xf32>"),
    (["set", f"{MODULE}.signature.output_specs", f"[{CHANGE.replace('buffer', 'parameter')}]"],
     "graph: the signature changes 'one', which is no input"),
]

UNSUPPORTED = [
    (["text", "models/other.json", "{}"], "holds 2 graphs; export one at a time"),
    (["set", f"{MODULE}.signature.input_specs.2", '{"token": {"arg": {"name": "t"}}}'],
     "graph: inputs of kind 'token' are not supported"),
    (["set", f"{MODULE}.signature.input_specs.2", '{"user_input": {"arg": {"as_int": 3}}}'],
     "graph: an input is neither a tensor nor a symbolic integer"),
    (["set", f"{MODULE}.signature.output_specs.0", '{"token": {"arg": {"name": "sum"}}}'],
     "graph: outputs of kind 'token' are not supported"),
    (both("output", 0, '{"as_int": 3}'), "graph: output 0 is a number; return a tensor in its place, or nothing"),
    (["set", f"{NODE}.outputs.0", '{"as_complex": {}}'], f"{LINEAR}outputs of kind 'as_complex' are not supported"),
]

EXTRAS = [
    (["set", "extra.experts", '"x"'], "extra/moe_mlir.json: 'experts' must be a list"),
    (["set", "extra.experts", "[1]"], "extra/moe_mlir.json: 'experts' is a list of result names"),
    (["set", "extra.experts", '["x"]'], "extra/moe_mlir.json: 'experts' names 'x', which is no further result of the graph"),
    (["set", "extra", "3"], "extra/moe_mlir.json is not an object"),
    (["set", "extra.cache_length", "-1"], "extra/moe_mlir.json: 'cache_length' must be an integer of at least 1"),
    (["set", "extra.cache_length", str(1 << 63)], "extra/moe_mlir.json: 'cache_length' must be an integer of at least 1"),
    (["set", "extra.vocab_size", '"32"'], "extra/moe_mlir.json: 'vocab_size' must be an integer of at least 1"),
    (["set", "extra.logits", "7"], "extra/moe_mlir.json: 'logits' must be a text"),
    (["set", "extra.eos", "2"], "extra/moe_mlir.json: 'eos' must be a list"),
    (["set", "extra.eos", "[2, 32]"], "extra/moe_mlir.json: 'eos' has 32, outside the vocabulary 0..31"),
    (["set", "extra.eos", "[-1]"], "extra/moe_mlir.json: 'eos' has -1, outside the vocabulary 0..31"),
    (["set", "extra.eos", '["x"]'], "extra/moe_mlir.json: 'eos' is a list of token ids"),
    (["set", "extra.states", "[3]"], "extra/moe_mlir.json: 'states' is a list of input names"),
]


@pytest.mark.parametrize("change,text", TABLES + GRAPHS + NAMES)
def test_malformed(change, text, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), 1, f"a.pt2: {text}")


@pytest.mark.parametrize("change,text", UNSUPPORTED)
def test_unsupported(change, text, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), 2, f"a.pt2: {text}")


def test_bias_is_no_tensor(tmp_path):
    """The bias of a linear layer is a dtype in its place: not the layer without a bias."""
    archive = pack(tmp_path / "a.pt2", "tiny.json", "set", f"{NODE}.inputs.2.arg", '{"as_scalar_type": 10}')
    message = refuse(archive, 2, "1 call(s) of 1 operator(s) are not supported")
    assert "note: model.py:7 (proj, linear): aten.linear.default (1): this form of the operator" in message


@pytest.mark.parametrize("change,text", EXTRAS)
def test_malformed_extra_file(change, text, tmp_path):
    refuse(pack(tmp_path / "a.pt2", "mixtral.json", *change), 1, f"a.pt2: {text}")


ROLES = [
    (["set", "extra.vocab_size", "48"], "says that the first result is logits of 48 ids, but it is tensor<?x?x32xf32>"),
    (["set", "extra.tokens", '"position"', "set", "extra.position", '"input_ids"'],
     "names 'position' as tokens, which is tensor<?xi64> instead of [batch, tokens] of i64"),
    (["set", "extra.keep", '"position"'], "names 'position' as position and as keep"),
]


@pytest.mark.parametrize("change,text", ROLES)
def test_an_extra_file_that_the_graph_contradicts(change, text, tmp_path):
    """It would be a program that says of itself, when it runs, that it is invalid."""
    refuse(pack(tmp_path / "a.pt2", "mixtral.json", *change), 1, f"a.pt2: extra/moe_mlir.json {text}")


def test_a_value_that_is_returned_twice(tmp_path):
    """Outputs have names of their own, so that none is lost."""
    two = f"[{named('sum')}, {named('sum')}, {named('sum')}]"
    spec = f'{{"user_output": {{"arg": {named("sum")}}}}}'
    pack(tmp_path / "a.pt2", "tiny.json", "set", f"{MODULE}.graph.outputs", two, "set", f"{MODULE}.signature.output_specs",
         f"[{spec}, {spec}, {spec}]")
    done = compile_model(tmp_path / "a.pt2", "-o", tmp_path / "a", "--progress=none")
    assert done.returncode == 0, done.stderr
    info = subprocess.run([tmp_path / "a", "--info"], capture_output=True, text=True).stdout
    assert [line.split()[0] for line in info.split("outputs:\n")[1].split("states")[0].splitlines()] == ["sum", "sum_2", "sum_3"]
