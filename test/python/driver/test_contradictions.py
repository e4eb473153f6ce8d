"""Graphs that contradict themselves: types that an operator cannot have, dimensions that are not there. Each is an error of the file."""

import json

import pytest

from compiling import INPUTS, compile_model, pack, refuse

NODES = "program.graph_module.graph.nodes"
VALUES = "program.graph_module.graph.tensor_values"
LINEAR = "graph: node 'linear' (torch.ops.aten.linear.default) at model.py:7: "
ADD = "graph: node 'sum' (torch.ops.aten.add.Tensor) at model.py:8: "
HUGE = '{"as_int": 4611686018427387904}'

TINY = [
    ([f"{VALUES}.linear.sizes", f"[{HUGE}, {HUGE}]"], LINEAR + "value 'linear' has sizes that no machine can hold"),
    ([f"{VALUES}.linear.sizes", "[]"], LINEAR + "its result has rank 0 instead of 2"),
    ([f"{NODES}.0.inputs.1.arg.as_tensor.name", '"c_one"'], LINEAR + "argument 'weight' has rank 0 instead of 2"),
    ([f"{NODES}.0.inputs.0.arg", '{"as_int": 3}'], LINEAR + "argument 'input' is no tensor"),
    ([f"{NODES}.0.inputs.0.name", '"x"'], LINEAR + "argument 'input' is no tensor"),
    ([f"{NODES}.0.outputs", "[]"], LINEAR + "it has no result"),
    ([f"{NODES}.0.outputs.0", '{"as_sym_int": {"as_name": "linear"}}'], LINEAR + "its result is no tensor"),
    ([f"{VALUES}.sum.sizes.1", '{"as_int": 7}'], ADD + "dimension 1 of its result has size 7, that of its operand 3"),
    ([f"{VALUES}.sum.sizes", "[]"], ADD + "its result has rank 0 instead of 2"),
    ([f"{VALUES}.linear.sizes.1", '{"as_int": 5}'], LINEAR + "dimension 1 of its result has size 5 instead of size 3"),
]
# Types that an op of the graph level objects to.
SIZES = [([f"{VALUES}.x.sizes.1", '{"as_int": 5}'], ["'nn.linear' op K is 5 in x but 2 in weight",
                                                     "gives this operator types that it cannot have; if PyTorch runs the model, this is a bug of moe-compile"])]


@pytest.mark.parametrize("change,text", TINY)
def test_refused(change, text, tmp_path):
    printed = refuse(pack(tmp_path / "a.pt2", "tiny.json", "set", *change), 1, f"a.pt2: {text}")
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize("change,texts", SIZES)
def test_refused_by_an_op(change, texts, tmp_path):
    printed = refuse(pack(tmp_path / "a.pt2", "tiny.json", "set", *change), 1, texts[0])
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


def sizes(*values):
    """As the graph writes them; "s0" is that of the input."""
    return [{"as_int": v} if isinstance(v, int) else {"as_expr": {"expr_str": v}} for v in values]


# Operator, its arguments besides the input x [s0, 2], sizes that its result cannot have, and what is said of them.
SHAPES = [
    ("unsqueeze.default", {"dim": 1}, ["s0", 2, 1], "dimension 1 of its result has size 2 instead of size 1"),
    ("select.int", {"dim": 0, "index": 0}, [3], "dimension 0 of its result has size 3 instead of size 2"),
    ("squeeze.dim", {"dim": 1}, ["s0"], "its result has rank 1 instead of 2"),
    ("transpose.int", {"dim0": 0, "dim1": 1}, ["s0", 2], "dimension 0 of its result has a dynamic size instead of size 2"),
    ("permute.default", {"dims": [1, 0]}, [2, 2], "dimension 1 of its result has size 2 instead of a dynamic size"),
    ("slice.Tensor", {"dim": 1, "start": 1}, ["s0", 2], "dimension 1 of its result has size 2 instead of size 1"),
    ("slice.Tensor", {"dim": 1, "start": -9, "end": 9, "step": 3}, ["s0", 2],
     "dimension 1 of its result has size 2 instead of size 1"),
    ("split_with_sizes.default", {"split_sizes": [2], "dim": 1}, ["s0", 1],
     "dimension 1 of its result has size 1 instead of size 2"),
    ("sum.dim_IntList", {"dim": [0]}, [3], "dimension 0 of its result has size 3 instead of size 2"),
    ("argmax.default", {"dim": 1}, [2], "dimension 0 of its result has size 2 instead of a dynamic size"),
    ("cat.default", {"tensors": ["x", "x"], "dim": 1}, ["s0", 3], "dimension 1 of its result has size 3 instead of size 4"),
    ("stack.default", {"tensors": ["x"], "dim": 0}, [2, "s0", 2], "dimension 0 of its result has size 2 instead of size 1"),
    ("matmul.default", {"other": "p_w"}, ["s0", 3], "dimension 1 of its result has size 3 instead of size 2"),
    ("matmul.default", {"other": "p_w"}, ["s0"], "its result has rank 1 instead of 2"),
    ("view.default", {"size": [3, 2]}, [3, 3], "dimension 1 of its result has size 3 instead of size 2"),
    ("narrow.default", {"dim": 1, "start": 0, "length": 1}, ["s0", 2], "dimension 1 of its result has size 2 instead of size 1"),
    ("narrow.default", {"dim": 2, "start": 0, "length": 1}, ["s0", 2], "there is no dimension 2 in a tensor of rank 2"),
    ("one_hot.default", {"num_classes": 4}, ["s0", 2, 3], "dimension 2 of its result has size 3 instead of size 4"),
    ("one_hot.default", {"num_classes": 4}, ["s0", 4], "its result has rank 2 instead of 3"),
    ("roll.default", {"shifts": [1], "dims": [0]}, ["s0", 3], "dimension 1 of its result has size 3, that of its operand 2"),
    ("roll.default", {"shifts": [1], "dims": [2]}, ["s0", 2], "there is no dimension 2 in a tensor of rank 2"),
    ("var.correction", {"dim": [0]}, [3], "dimension 0 of its result has size 3 instead of size 2"),
    ("std.dim", {"dim": [0, 0]}, [2], "a dimension is reduced twice"),
    ("addcmul.default", {"tensor1": "x", "tensor2": "x"}, ["s0", 3], "dimension 1 of its result has size 3, that of its operand 2"),
    ("mv.default", {"vec": "x"}, ["s0"], "argument 'vec' has rank 2 instead of 1"),
    ("addmv.default", {"mat": "x", "vec": "x"}, ["s0"], "argument 'vec' has rank 2 instead of 1"),
    ("arange.default", {"end": 3}, [1, 3], "its result has rank 2 instead of 1"),
    ("flatten.using_ints", {"start_dim": 1, "end_dim": 1}, [2, 2],
     "dimension 0 of its result has size 2 instead of a dynamic size"),
    ("arange.start_step", {"start": 2, "end": 11, "step": 1}, [3], "dimension 0 of its result has size 3 instead of size 9"),
    ("arange.start_step", {"start": 5, "end": -5, "step": -2}, [4], "dimension 0 of its result has size 4 instead of size 5"),
    ("arange.start_step", {"start": 0.0, "end": 2.0, "step": 0.75}, [2], "dimension 0 of its result has size 2 instead of size 3"),
    ("arange.start_step", {"start": -(2**63), "end": 2**63 - 1, "step": 1}, [3],
     "dimension 0 of its result has size 3 instead of size 9223372036854775807"),
    ("arange.start", {"start": 9, "end": 4}, [4], "no steps of 1 lead from 9 to 4"),
    ("arange.start_step", {"start": 0, "end": 4, "step": 0}, [4], "argument 'step' is 0"),
    ("arange.default", {"end": "Infinity"}, [4], "argument 'end' is not finite"),
    ("repeat.default", {"repeats": [1, 15]}, ["s0", 4], "dimension 1 of its result has size 4 instead of size 30"),
    ("repeat.default", {"repeats": [2, 1, 1]}, [1, "s0", 2], "dimension 0 of its result has size 1 instead of size 2"),
    ("repeat.default", {"repeats": [2, 1]}, [4, 2], "dimension 0 of its result has size 4 instead of a dynamic size"),
    ("repeat.default", {"repeats": [1, 2**62]}, ["s0", 4],
     "dimension 1 of its result has size 4 instead of size 9223372036854775807"),
    ("repeat.default", {"repeats": [1, 1, 1]}, ["s0", 2], "its result has rank 2 instead of 3"),
    ("repeat.default", {"repeats": [2]}, [2], "argument 'repeats' has 1 number(s) for an operand of rank 2"),
    ("repeat.default", {"repeats": [1, -1]}, ["s0", 2], "argument 'repeats' has the number -1"),
    ("split.Tensor", {"split_size": 1, "dim": 1}, ["s0", 2], "dimension 1 of its result has size 2 instead of size 1"),
    ("chunk.default", {"chunks": 2, "dim": 1}, ["s0", 2], "dimension 1 of its result has size 2 instead of size 1"),
    ("unflatten.int", {"dim": 1, "sizes": [2, 1]}, ["s0", 1, 2], "dimension 1 of its result has size 1 instead of size 2"),
    ("view.default", {"size": [-1, -7]}, ["s0", 2], "argument 'size' has the size -7"),
    ("view.default", {"size": [-1, -1]}, ["s0", 2], "argument 'size' leaves two sizes open"),
    ("expand.default", {"size": [-1, -1, 2]}, [1, "s0", 2], "argument 'size' has the size -1"),
    ("expand.default", {"size": [2]}, [2], "argument 'size' has 1 size(s) for an operand of rank 2"),
    ("expand.default", {"size": [-1, 6]}, ["s0", 6], "dimension 1 of its result has size 6, that of its operand 2"),
    ("expand.default", {"size": [-1, -1]}, ["s0", 6], "dimension 1 of its result has size 6, that of its operand 2"),
    ("new_zeros.default", {"size": [3, -1]}, [3, 3], "argument 'size' has the size -1"),
    ("layer_norm.default", {"input": "x", "normalized_shape": [63]}, ["s0", 2],
     "argument 'normalized_shape' has size 63 for dimension 1 of its operand, which has size 2"),
    ("layer_norm.default", {"input": "x", "normalized_shape": [1, 1, 2]}, ["s0", 2],
     "argument 'normalized_shape' has 3 size(s) for an operand of rank 2"),
    ("layer_norm.default", {"input": "x", "normalized_shape": [4, 2], "weight": "p_w"}, ["s0", 2],
     "dimension 0 of argument 'weight' has size 3 instead of size 4"),
    ("rms_norm.default", {"input": "x", "normalized_shape": [2], "weight": "p_w"}, ["s0", 2], "argument 'weight' has rank 2 instead of 1"),
]


@pytest.mark.parametrize("target,arguments,result,text", SHAPES)
def test_shapes(target, arguments, result, text, tmp_path):
    def argument(value):
        if isinstance(value, list):
            return {"as_tensors": [{"name": v} for v in value]} if isinstance(value[0], str) else {"as_ints": value}
        if isinstance(value, float) or value == "Infinity":
            return {"as_float": value}
        return {"as_tensor": {"name": value}} if isinstance(value, str) else {"as_int": value}

    given = {} if {"tensors", "input"} & set(arguments) or target.startswith("arange") else {"self": "x"}
    inputs = [{"name": name, "arg": argument(value), "kind": 1} for name, value in {**given, **arguments}.items()]
    change = ["set", f"{NODES}.0.target", json.dumps(f"torch.ops.aten.{target}"), "set", f"{NODES}.0.inputs", json.dumps(inputs),
              "set", f"{VALUES}.linear.sizes", json.dumps(sizes(*result))]
    # A dynamic size might be an expression for the known one.
    code = 2 if "a dynamic size" in text else 1
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), code, f"(torch.ops.aten.{target}) at model.py:7: {text}")


# Equations of x [s0, 2] and the weight [3, 2], sizes of the result, and what is said.
EQUATIONS = [
    ("td,ed->te", ["s0", 2], "dimension 1 of its result has size 2 instead of size 3"),
    ("td,ed->et", [2, "s0"], "dimension 0 of its result has size 2 instead of size 3"),
    ("td,ed->e", [3, 2], "its result has rank 2 instead of 1"),
    ("td,ed", ["s0", 3], "dimension 0 of its result has a dynamic size instead of size 3"),  # e comes before t
    *((equation, ["s0", 3], f"its equation '{equation}' does not fit its operands")
      for equation in ("td->te", "td,ed,e->te", "tdh,ed->te", "t,ed->te", "td,ed->tee", "td,ed->tz", "t1,e1->te", "td,ed->t,e", "")),
]


@pytest.mark.parametrize("equation,result,text", EQUATIONS)
def test_equations(equation, result, text, tmp_path):
    inputs = [{"name": "equation", "arg": {"as_string": equation}, "kind": 1},
              {"name": "tensors", "arg": {"as_tensors": [{"name": "x"}, {"name": "p_w"}]}, "kind": 1}]
    change = ["set", f"{NODES}.0.target", '"torch.ops.aten.einsum.default"', "set", f"{NODES}.0.inputs", json.dumps(inputs),
              "set", f"{VALUES}.linear.sizes", json.dumps(sizes(*result))]
    code = 2 if "a dynamic size" in text else 1
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), code, f"(torch.ops.aten.einsum.default) at model.py:7: {text}")


def test_view_of_another_number_of_elements(tmp_path):
    argument = [{"name": "self", "arg": {"as_tensor": {"name": "c_one"}}, "kind": 1},
                {"name": "size", "arg": {"as_ints": [1, 3]}, "kind": 1}]
    change = ["set", f"{NODES}.0.target", '"torch.ops.aten.view.default"', "set", f"{NODES}.0.inputs", json.dumps(argument),
              "set", f"{VALUES}.linear.sizes", json.dumps(sizes(1, 3))]
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), 1, "its result does not have the 1 elements of its operand")


@pytest.mark.parametrize("target,given", [("view.default", {"size": {"as_ints": [-1, 2]}}), ("exp.default", {})])
def test_unsimplified_size(target, given, tmp_path):
    """What a list or an operand says of a size holds, where the type has an expression for it."""
    arguments = {"self": {"as_tensor": {"name": "x"}}, **given}
    inputs = [{"name": name, "arg": value, "kind": 1} for name, value in arguments.items()]
    change = ["set", f"{NODES}.0.target", json.dumps(f"torch.ops.aten.{target}"), "set", f"{NODES}.0.inputs", json.dumps(inputs),
              "set", f"{VALUES}.linear.sizes", json.dumps(sizes("s0", "s1/s2")),
              "set", f"{VALUES}.sum.sizes", json.dumps(sizes("s0", "s1/s2"))]
    done = compile_model(pack(tmp_path / "a.pt2", "tiny.json", *change), "-o", tmp_path / "runtime.mlir", "--to=runtime", "-q")
    assert done.returncode == 0, done.stderr
