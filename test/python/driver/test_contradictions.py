"""Graphs that contradict themselves: types that an operator cannot have, dimensions that are not there. Each is an error of the file."""

import json

import pytest

from compiling import INPUTS, pack, refuse

NODES = "program.graph_module.graph.nodes"
VALUES = "program.graph_module.graph.tensor_values"
LINEAR = "graph: node 'linear' (torch.ops.aten.linear.default) at model.py:7: "
ADD = "graph: node 'sum' (torch.ops.aten.add.Tensor) at model.py:8: "
HUGE = '{"as_int": 4611686018427387904}'

TINY = [
    ([f"{VALUES}.linear.sizes", f"[{HUGE}, {HUGE}]"], "graph: value 'linear' has sizes that no machine can hold"),
    ([f"{VALUES}.linear.sizes", "[]"], LINEAR + "its result has rank 0 instead of 2"),
    ([f"{NODES}.0.inputs.1.arg.as_tensor.name", '"c_one"'], LINEAR + "argument 'weight' has rank 0 instead of 2"),
    ([f"{NODES}.0.inputs.0.arg", '{"as_int": 3}'], LINEAR + "argument 'input' is no tensor"),
    ([f"{NODES}.0.inputs.0.name", '"x"'], LINEAR + "argument 'input' is no tensor"),
    ([f"{NODES}.0.outputs", "[]"], LINEAR + "it has no result"),
    ([f"{NODES}.0.outputs.0", '{"as_sym_int": {"as_name": "linear"}}'], LINEAR + "its result is no tensor"),
    ([f"{VALUES}.sum.sizes.1", '{"as_int": 7}'], ADD + "dimension 1 of its result has size 7, that of its operand 3"),
    ([f"{VALUES}.sum.sizes", "[]"], ADD + "its result has rank 0 instead of 2"),
]
# Types that an op of the graph level objects to.
SIZES = [([f"{VALUES}.linear.sizes.1", '{"as_int": 5}'], ["'nn.linear' op N is 3 in weight but 5 in result",
                                                          "gives this operator types that it cannot have"])]


@pytest.mark.parametrize("change,text", TINY)
def test_refused(change, text, tmp_path):
    printed = refuse(pack(tmp_path / "a.pt2", "tiny.json", "set", *change), 1, f"a.pt2: {text}")
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize("change,texts", SIZES)
def test_refused_by_an_op(change, texts, tmp_path):
    printed = refuse(pack(tmp_path / "a.pt2", "tiny.json", "set", *change, "set", f"{VALUES}.sum.sizes.1", '{"as_int": 5}'), 1, texts[0])
    assert texts[1] in printed and "a.pt2" in printed
    assert len(printed.splitlines()) == 2


def node_of(fixture, target):
    nodes = json.loads((INPUTS / fixture).read_text())["program"]["graph_module"]["graph"]["nodes"]
    return next(i for i, node in enumerate(nodes) if node["target"] == f"torch.ops.aten.{target}")


MODEL = [
    ("view.default", "inputs.0.arg", '{"as_int": 3}', "argument 'self' is no tensor"),
    ("transpose.int", "inputs.1.arg", '{"as_int": 9}', "there is no dimension 9 in a tensor of rank "),
    ("unsqueeze.default", "inputs.1.arg", '{"as_int": -9}', "there is no dimension -9 in a tensor of rank "),
    ("cat.default", "inputs.0.arg", '{"as_tensors": []}', "argument 'tensors' is an empty list"),
    ("mean.dim", "inputs.1.arg", '{"as_ints": [-1, 2]}', "a dimension is reduced twice"),
    ("mean.dim", "inputs.2.arg", '{"as_bool": false}', "its result has rank 3 instead of 2"),
]


@pytest.mark.parametrize("target,place,value,text", MODEL)
def test_operators_of_a_model(target, place, value, text, tmp_path):
    change = ["set", f"{NODES}.{node_of('mixtral.json', target)}.{place}", value]
    printed = refuse(pack(tmp_path / "a.pt2", "mixtral.json", *change), 1, f"(torch.ops.aten.{target})", text)
    assert len(printed.splitlines()) == 1
