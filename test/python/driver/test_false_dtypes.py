"""Dtypes in a .pt2 that contradict each other: of operands, arguments, assertions, nested graphs, states and numbers. What an
operator gives, by its operands, is in test/python/ops/test_operators.py, for every operator."""

import json

import pytest

from compiling import INPUTS, compile_model, pack, refuse

NODES = "program.graph_module.graph.nodes"
VALUES = "program.graph_module.graph.tensor_values"
INT32, INT64, FLOAT16, FLOAT32, FLOAT64, BOOL, BFLOAT16 = 4, 5, 6, 7, 8, 12, 13
NAMES = {INT32: "int32", INT64: "int64", FLOAT16: "float16", FLOAT32: "float32", FLOAT64: "float64", BOOL: "bool", BFLOAT16: "bfloat16"}


def graph_of(fixture):
    return json.loads((INPUTS / fixture).read_text())["program"]["graph_module"]["graph"]


def find(fixture, target, argument=None):
    """The number of the first node of that operator, which has that argument."""
    return next(i for i, node in enumerate(graph_of(fixture)["nodes"]) if node["target"] == f"torch.ops.aten.{target}"
                and (argument is None or argument in [entry["name"] for entry in node["inputs"]]))


@pytest.mark.parametrize("false", [INT32, INT64, FLOAT16, FLOAT64, BOOL, BFLOAT16])
def test_a_cast_to_another_dtype(false, tmp_path):
    """The argument of the operator says float32."""
    number = find("mixtral.json", "to.dtype")
    result = graph_of("mixtral.json")["nodes"][number]["outputs"][0]["as_tensor"]["name"]
    argument = next(i for i, entry in enumerate(graph_of("mixtral.json")["nodes"][number]["inputs"]) if entry["name"] == "dtype")
    change = ["set", f"{NODES}.{number}.inputs.{argument}.arg", f'{{"as_scalar_type": {FLOAT32}}}', "set", f"{VALUES}.{result}.dtype", false]
    printed = refuse(pack(tmp_path / "a.pt2", "mixtral.json", *change), 1, f"a.pt2: graph: node '{result}' (torch.ops.aten.to.dtype) at ",
                     f": its result has dtype {NAMES[false]} instead of float32, as its operator and arguments say; the file was changed or "
                     "damaged: export the model again")
    assert len(printed.splitlines()) == 1


def call(target, **arguments):
    """Makes this call of the first node of tiny.json, which has x [s0, 2], p_w [3, 2] and c_one [], all float32."""
    def argument(value):
        return {"as_tensor": {"name": value}} if isinstance(value, str) else value if isinstance(value, dict) else {"as_int": value}

    inputs = [{"name": name, "arg": argument(value), "kind": 1} for name, value in arguments.items()]
    return ["set", f"{NODES}.0.target", json.dumps(f"torch.ops.aten.{target}"), "set", f"{NODES}.0.inputs", json.dumps(inputs)]


ROW = ["set", f"{VALUES}.linear.sizes.1", '{"as_int": 2}', "set", f"{VALUES}.sum.sizes.1", '{"as_int": 2}']
CUBE = [{"as_expr": {"expr_str": "s0"}}, {"as_int": 2}, {"as_int": 2}]
X = ["set", f"{VALUES}.x.dtype"]
NUMBER = ["set", f"{NODES}.0.outputs.0"]
OPERANDS = [
    ([*X, BFLOAT16], "argument 'weight' has dtype float32, but 'input' has bfloat16, and the operator takes one dtype"),
    ([*X, INT32, *call("linear.default", input="x", weight="p_w")], "argument 'weight' has dtype float32, but 'input' has int32"),
    ([*call("embedding.default", weight="p_w", indices="x"), "set", f"{VALUES}.linear.sizes", json.dumps(CUBE), "set", f"{VALUES}.sum.sizes", json.dumps(CUBE)],
     "argument 'indices' has dtype float32 instead of an integer one"),
    ([*call("gather.default", self="x", dim=1, index="x"), *ROW], "argument 'index' has dtype float32 instead of an integer one"),
    ([*call("where.self", condition="x", self="x", other="c_one"), *ROW], "argument 'condition' has dtype float32 instead of bool"),
    ([*call("masked_fill.Scalar", self="x", mask="x", value=1), *ROW], "argument 'mask' has dtype float32 instead of bool"),
    ([*call("_assert_tensor_metadata.default", a="x", dtype={"as_scalar_type": INT64}), "set", f"{NODES}.0.outputs", "[]"],
     "argument 'a' has dtype float32 instead of int64"),
    ([*call("item.default", self="c_one"), *NUMBER, '{"as_sym_int": {"as_name": "linear"}}'], "its result has dtype int64 instead of float64"),
    ([*call("sym_size.int", self="x", dim=0), *NUMBER, '{"as_sym_float": {"as_name": "linear"}}'], "its result has dtype float64 instead of int64"),
]


@pytest.mark.parametrize("change,text", OPERANDS)
def test_operands(change, text, tmp_path):
    printed = refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), 1, "a.pt2: graph: node 'linear' (torch.ops.aten.", " at model.py:7: " + text)
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize("dtype,code,text", [(INT32, 2, "aten.view.dtype (1)"), (FLOAT32, 1, "its result has dtype int32 instead of float32")])
def test_a_view_of_another_dtype(dtype, code, text, tmp_path):
    """Its argument says what its result has; the operator itself is not supported."""
    change = [*call("view.dtype", self="x", dtype={"as_scalar_type": dtype}), *ROW, "set", f"{VALUES}.linear.dtype", INT32]
    assert text in refuse(pack(tmp_path / "a.pt2", "tiny.json", *change), code)


@pytest.mark.parametrize("target,arguments", [
    ("zeros.default", {"size": {"as_ints": [3]}}), ("ones.default", {"size": {"as_ints": [3]}}),
    ("full.default", {"size": {"as_ints": [3]}, "fill_value": {"as_float": 1.0}}), ("arange.default", {"end": {"as_float": 3.0}})])
def test_default_dtypes(target, arguments, tmp_path):
    """Without an argument the dtype is the default of floats in the exporting process, whichever that was, and no other."""
    vector = ["set", f"{VALUES}.linear.sizes", '[{"as_int": 3}]', "set", f"{VALUES}.sum.sizes", '[{"as_int": 3}]']
    for dtype in (FLOAT32, BFLOAT16):
        change = [*call(target, **arguments), *vector, "set", f"{VALUES}.linear.dtype", dtype, "set", f"{VALUES}.sum.dtype", dtype]
        done = compile_model(pack(tmp_path / "a.pt2", "tiny.json", *change), "-o", tmp_path / "graph.mlir", "--to=graph", "-q")
        assert done.returncode == 0, done.stderr
    (tmp_path / "graph.mlir").unlink()
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change, "set", f"{VALUES}.linear.dtype", INT64), 1,
           f"(torch.ops.aten.{target}) at model.py:7: its result has dtype int64 instead of a floating one")


def test_what_ranks(tmp_path):
    """Places among the elements are int64."""
    node = find("mixtral.json", "topk.default")
    names = [output["as_tensor"]["name"] for output in graph_of("mixtral.json")["nodes"][node]["outputs"]]
    refuse(pack(tmp_path / "a.pt2", "mixtral.json", "set", f"{VALUES}.{names[1]}.dtype", INT32), 1, "(torch.ops.aten.topk.default)",
           ": result 1 has dtype int32 instead of int64")


def nested(fixture):
    """The number of the first node with a nested graph, and of the argument that it is."""
    for i, node in enumerate(graph_of(fixture)["nodes"]):
        for j, entry in enumerate(node["inputs"]):
            if "as_graph" in entry["arg"]:
                return i, j, node, entry["arg"]["as_graph"]["graph"]


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_nested_graphs(side, tmp_path):
    i, j, node, graph = nested("static_cache.json")
    inner = next(value["as_tensor"]["name"] for value in graph[side] if "as_tensor" in value)
    outer = node["outputs"][0].get("as_tensor", node["outputs"][0].get("as_tensors", [None])[0])
    place = f"{NODES}.{i}.inputs.{j}.arg.as_graph.graph.tensor_values.{inner}" if side == "inputs" else f"{VALUES}.{outer['name']}"
    refuse(pack(tmp_path / "a.pt2", "static_cache.json", "set", f"{place}.dtype", FLOAT16), 1, f"graph: node '{node['name']}'",
           "' has dtype float16, but what the nested graph has for it, ")


def test_a_state(tmp_path):
    """A buffer that the graph changes has the dtype of its stored tensor."""
    module = "program.graph_module"
    change = ["set", f"{module}.signature.input_specs.1", '{"buffer": {"arg": {"name": "c_one"}, "buffer_name": "one", "persistent": false}}',
              "set", f"{module}.signature.output_specs.", '{"buffer_mutation": {"arg": {"name": "c_one"}, "buffer_name": "one"}}',
              "set", f"{module}.graph.outputs.", '{"as_tensor": {"name": "c_one"}}']
    done = compile_model(pack(tmp_path / "a.pt2", "tiny.json", *change, "set", "data", "{}"), "-o", tmp_path / "graph.mlir", "--to=graph", "-q")
    assert done.returncode == 0, done.stderr
    (tmp_path / "graph.mlir").unlink()
    refuse(pack(tmp_path / "a.pt2", "tiny.json", *change, "set", f"{VALUES}.c_one.dtype", FLOAT64), 1,
           "tensor 'one' is declared as tensor<f64> in the graph, but the archive holds tensor<f32>")
