"""What tracing decides by the sizes of its example is asked of every input: another branch's result would be wrong."""

import collections

import numpy as np
import pytest
import torch

from compiling import SECONDS, compile_model, limit_memory
from moe_mlir import Executable
from moe_mlir.errors import Error
from moe_mlir.executable import ExecutableError
from moe_mlir.testing.compiling import edit_program, moe_compile


class Branch(torch.nn.Module):
    def __init__(self, condition):
        super().__init__()
        self.condition = condition

    def forward(self, x, y):
        return x * 2 if self.condition(x.shape[0], y.shape[0]) else x * 3


def exported(module, folder, *inputs):
    rows = {0: torch.export.Dim.AUTO}
    program = torch.export.export(module, inputs, dynamic_shapes=(rows,) * len(inputs), strict=False)
    torch.export.save(program, folder / "m.pt2")
    return program.module(), folder / "m.pt2"


def branch(folder, condition):
    return exported(Branch(condition), folder, torch.ones(20, 4), torch.ones(6, 4))


CONDITIONS = {
    "a remainder": lambda m, n: m % 2 == 0,
    "a remainder that is not": lambda m, n: torch.sym_not(m % 2 == 1),
    "a remainder of negative numbers": lambda m, n: (n - m) % 5 == 1,
    "more": lambda m, n: m > n,
    "another size": lambda m, n: m != n,
    "another number": lambda m, n: torch.sym_not(m == 14),
    "a product": lambda m, n: m * n > 50,
    "a divisor that may be 0": lambda m, n: m % n == 2,
    "the greatest": lambda m, n: max(m, n) < 100,
    "the least": lambda m, n: torch.sym_min(m, 3 * n) > 7,
    "a distance": lambda m, n: abs(m - n) > 3,
    "a quotient": lambda m, n: m / n > 1.5,
    "a capacity": lambda m, n: int(m * 1.25 / 4) == 6,
    "a number rounded up": lambda m, n: -(-m // 3) == 7,
    "a difference": lambda m, n: m / 2 - 1.5 > n,
    # As tracing assumes it of sizes that the graph computes, which these are not.
    "more chunks than one": lambda m, n: m // 7 > 1,
    "not one chunk": lambda m, n: torch.sym_not(m // 4 == 1),
    "more than one more": lambda m, n: m - n > 1,
    "a remainder of both": lambda m, n: torch.sym_not((m + n) % 5 == 0),
    "a small factor": lambda m, n: m * 1e-05 > 1.5e-04,
    "a power": lambda m, n: m**2 - n**2 >= 100,
    "a large divisor": lambda m, n: torch.sym_not(m % (n**3 + 500) == 0),
}
SIZES = [(20, 6), (5, 6), (7, 6), (0, 5), (21, 6), (26, 6), (0, 6), (1, 6), (1, 1), (6, 20), (6, 6), (2, 2), (2, 0), (0, 0), (200, 3), (19, 5), (14, 6), (716, 6), (508, 2)]


@pytest.mark.parametrize("what", CONDITIONS)
def test_a_branch_on_sizes(tmp_path, what):
    """It is the model's branch, or the call is refused, where PyTorch's exported program refuses it, too."""
    condition = CONDITIONS[what]
    runner, model = branch(tmp_path, condition)
    outcomes = set()
    with Executable(moe_compile(model, tmp_path / "m")) as executable:
        for m, n in SIZES:
            x, y = np.arange(4 * m, dtype=np.float32).reshape(m, 4), np.ones((n, 4), np.float32)
            try:
                [result] = executable.run({"x": x, "y": y}).values()
            except ExecutableError as error:
                assert error.exit_code == 1
                assert "the model was exported for inputs with" in str(error) or "the program expects" in str(error)
                with pytest.raises((AssertionError, RuntimeError, ZeroDivisionError)):
                    runner(torch.ones(m, 4), torch.ones(n, 4))
                outcomes.add("refused")
                continue
            try:
                expected = Branch(condition)(torch.from_numpy(x), torch.from_numpy(y)).numpy()
            except ZeroDivisionError:
                continue
            assert np.array_equal(result, expected), (m, n)
            outcomes.add("runs")
    assert outcomes == {"refused", "runs"}


# What is a size of the graph only for the sizes at which all conditions hold, or below some number.
LIKE_SIZES = {
    "a remainder beside a size of 1": (lambda x: x[None] * (2 if x.shape[0] % 2 != 0 else 3), 5, (7, 4, 6)),
    "a remainder beside a kept sum": (lambda x: x * (3 if x.shape[0] % 2 == 0 else 2) + x.sum(-1, keepdim=True), 5, (7, 4, 6)),
    "a quotient below a bound": (lambda x: x * (3 if x.shape[0] // 8 != 0 else 2) + (x.sum(-1, keepdim=True) if x.shape[0] < 16 else 0), 9, (15, 4, 24)),
    "a remainder beside a size of 0": (lambda x: torch.cat([x[:, :0], x], 1) * (3 if x.shape[0] % 2 != 1 else 2), 4, (6, 5, 7)),
    "two conditions that are one": (lambda x: x[None] * (2 if x.shape[0] % 2 != 0 else 3) * (5 if (x.shape[0] + 2) % 2 != 0 else 7), 5, (7, 4)),
    "a large divisor": (lambda x: x * (2 if x.shape[0] % 4096 == 0 else 3), 10, (4095, 4096, 4097, 8192)),
    "a large divisor and a remainder": (lambda x: x * (2 if x.shape[0] % 2048 == 1 else 3), 10, (2047, 2049, 4097)),
    "a large divisor of a product": (lambda x: x * (2 if x.shape[0] * 2 % 4096 == 0 else 3) + x.reshape(-1).sum(), 10, (2047, 2048)),
    "a divisor of the least": (lambda x: x * (2 if min(x.shape[0], 5000) % 3000 != 0 else 3), 10, (3000, 2999, 6000)),
}


@pytest.mark.parametrize("what", LIKE_SIZES)
def test_conditions_that_look_like_sizes(tmp_path, what):
    function, example, others = LIKE_SIZES[what]

    class Module(torch.nn.Module):
        def forward(self, x):
            return function(x)

    runner, model = exported(Module(), tmp_path, torch.ones(example, 4))
    outcomes = set()
    with Executable(moe_compile(model, tmp_path / "m")) as executable:
        for rows in (example, *others):
            x = torch.ones(rows, 4)
            try:
                expected = runner(x).numpy()
            except AssertionError:
                with pytest.raises(ExecutableError, match="exported for inputs with|the program expects"):
                    executable.run({"x": x.numpy()})
                outcomes.add("refused")
                continue
            assert np.array_equal([*executable.run({"x": x.numpy()}).values()][0], expected), rows
            outcomes.add("runs")
    assert outcomes == {"refused", "runs"}


@pytest.mark.parametrize("what,function", [
    ("slices", lambda x: x[1:] + x[:-1]),
    ("pairs", lambda x: x.view(-1, 2, 4) * 2),
    ("quarters", lambda x: x.view(x.shape[0] // 4, 4, 4) * 2),
    ("joined", lambda x: torch.cat([x, x[2:]]) * 2),
])
def test_strides_ask_nothing(tmp_path, what, function):
    """Tracing assumes that no size it computes is 0 or 1; of that nothing here depends, so that few rows run, too."""

    class Module(torch.nn.Module):
        def forward(self, x):
            return function(x)

    _, model = exported(Module(), tmp_path, torch.ones(20, 4))
    with Executable(moe_compile(model, tmp_path / "m")) as executable:
        for rows in (0, 2, 4, 8, 40):
            x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
            if what == "slices" and rows == 0 or what == "quarters" and rows == 2:
                continue  # in eager PyTorch an error
            [result] = executable.run({"x": x}).values()
            assert np.array_equal(result, function(torch.from_numpy(x)).numpy()), rows


def test_a_size_that_only_the_running_program_knows(tmp_path):
    """It is no number for the import, and so not the size that a guard is about."""

    class Module(torch.nn.Module):
        def forward(self, x, n):
            count = n.item()
            torch._check(count >= 0)
            torch._check(count <= x.shape[0])
            return x[:count].amax(0) if x.shape[0] // 4 == 1 else x[:count].sum(0)

    program = torch.export.export(Module(), (torch.ones(20, 4), torch.tensor(3)), dynamic_shapes=({0: torch.export.Dim.AUTO}, None), strict=False)
    torch.export.save(program, tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        given = lambda rows: {"x": np.ones((rows, 4), np.float32), "n": np.int64(2)}
        [result] = executable.run(given(9)).values()
        assert np.array_equal(result, np.full(4, 2, np.float32))
        with pytest.raises(ExecutableError, match="exported for inputs with|the program expects"):
            executable.run(given(6))


def test_inputs_in_lists_and_dictionaries(tmp_path):
    class Module(torch.nn.Module):
        def forward(self, inputs):
            first, second = inputs["Pair"]
            return first * 2 if first.shape[0] % second.shape[0] == 0 else first * 3

    rows = {0: torch.export.Dim.AUTO}
    program = torch.export.export(Module(), ({"Pair": [torch.ones(20, 4), torch.ones(5, 4)]},),
                                  dynamic_shapes=({"Pair": [rows, rows]},), strict=False)
    torch.export.save(program, tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        first, second = executable.inputs
        ones = lambda count: np.ones((count, 4), np.float32)
        [result] = executable.run({first: ones(21), second: ones(7)}).values()
        assert np.array_equal(result, ones(21) * 2)
        with pytest.raises(ExecutableError, match="exported for inputs with|the program expects"):
            executable.run({first: ones(21), second: ones(6)})


@pytest.mark.parametrize("names", ["x X", "a b,a_b", "list"])
def test_inputs_whose_names_become_one(tmp_path, names):
    """PyTorch calls the second one x_1, and does not say of which of them a guard is."""

    class Module(torch.nn.Module):
        def forward(self, x, X):
            return x * 2 if X.shape[0] % 2 == 0 else x * 3

    class OfDictionary(torch.nn.Module):
        def forward(self, d):
            return d["a b"] * 2 if d["a_b"].shape[0] % 2 == 0 else d["a b"] * 3

    class OfList(torch.nn.Module):
        def forward(self, xs, xs_0):
            return xs[0] * 2 if xs_0.shape[0] % 2 == 0 else xs[0] * 3

    rows, first, second = {0: torch.export.Dim.AUTO}, torch.ones(5, 4), torch.ones(6, 4)
    module, inputs, shapes = {
        "x X": (Module(), (first, second), (rows, rows)),
        "a b,a_b": (OfDictionary(), ({"a b": first, "a_b": second},), ({"a b": rows, "a_b": rows},)),
        "list": (OfList(), ([first], second), ([rows], rows)),
    }[names]
    torch.export.save(torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False), tmp_path / "m.pt2")
    with pytest.raises(Error, match="do not say which one that is; give them other names"):
        moe_compile(tmp_path / "m.pt2", tmp_path / "m")


def test_strict_export(tmp_path):
    """Its guards number the inputs."""
    rows = {0: torch.export.Dim.DYNAMIC}
    program = torch.export.export(Branch(lambda m, n: (m + n) % 2 == 0), (torch.ones(20, 4), torch.ones(6, 4)), dynamic_shapes=(rows, rows), strict=True)
    torch.export.save(program, tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        ones = lambda count: np.ones((count, 4), np.float32)
        [result] = executable.run({"x": ones(3), "y": ones(5)}).values()
        assert np.array_equal(result, ones(3) * 2)
        with pytest.raises(ExecutableError, match="exported for inputs with|the program expects"):
            executable.run({"x": ones(3), "y": ones(4)})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return branch(tmp_path_factory.mktemp("model"), CONDITIONS["a remainder"])[1]


@pytest.mark.parametrize("guard", [
    "", "1", "L['x'].size()[0]", "L['x'].size()[0] ** 2 == 4", "L['x'].size()[0] < 3 < 4", "L['x'].data_ptr() == 4", "L['z'].size()[0] == 2",
    "L['x'].size()[2] == 2", "L['x'].size()[-1] == 2", "(L['x'].size()[0] == 2", "L['x'].size()[0] == 2)", "not L['x'].size()[0]",
    "L['x'].size()[0] % 0 == 1", "L['x'].size()[0] / 0.0 == 1", "math.sqrt(L['x'].size()[0]) == 2", "math.floor(1, 2) == 1", "L['x'.size()[0] == 1",
    "L['x'].size()[99999999999999999999] == 1", "99999999999999999999 == L['x'].size()[0]", "L[", "L['x']", "(" * 100_000, "1 + " * 100_000 + "1 == 1",
    "not " * 100_000 + "1 == 1", "L['x'].size()[0] == 2 and 1", "1.5 % 2 == 1",
    "L['x'].size()[0] > 007", "L['x'].size()[0] > 0x1.8p3", "L['x'].size()[0] > 3 or L['x'].stride()[0] == 2", "L['flat_args'][2].size()[0] > 3",
])
def test_what_cannot_be_asked(model, tmp_path, guard):
    """Nor left out: the program could give what the model does not."""
    damaged = edit_program(model, tmp_path / "m.pt2", lambda program: program.update(guards_code=[guard]))
    if guard.startswith("not not"):
        moe_compile(damaged, tmp_path / "m")
        return
    with pytest.raises(Error, match="it was exported for inputs with .*, which a program cannot check"):
        moe_compile(damaged, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("guard", ["L['x']._base.size()[1] != 2", "L['x'].stride()[0] == 7", "L['x'].storage_offset() == 3"])
def test_memory_of_the_example(model, tmp_path, guard):
    """A view that was the example says nothing of a caller's arrays, which are without gaps."""
    text = moe_compile(edit_program(model, tmp_path / "m.pt2", lambda program: program.update(guards_code=[guard])), tmp_path / "m.mlir", "--to=graph").read_text()
    assert "cf.assert" not in text


@pytest.mark.parametrize("field,value,said", [
    ("guards_code", {}, "guards_code is no list"), ("guards_code", [1], "guards_code holds something that is no text"),
    ("range_constraints", [], "range_constraints is no object"),
])
def test_damaged_fields(model, tmp_path, field, value, said):
    with pytest.raises(Error, match=said):
        moe_compile(edit_program(model, tmp_path / "m.pt2", lambda program: program.update({field: value})), tmp_path / "m")


def test_ranks_have_a_part_of_the_rows(model, tmp_path):
    """A rank does not know whether all of them are an even number."""
    with pytest.raises(Error, match="checks the number of elements of dimension 0, so '.*' cannot be divided among ranks; leave dp out"):
        moe_compile(model, tmp_path / "m", "--parallel=dp=2")


STATEFUL = """module attributes {moe.level = "graph", moe.name = "st"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x", moe.dims = ["b", ""]}, %s: tensor<?x4xf32> {moe.name = "s", moe.dims = ["b", ""], moe.state})
      -> (tensor<?x4xf32> {moe.name = "y", moe.dims = ["b", ""]}, tensor<?x4xf32> {moe.dims = ["b", ""], moe.state_of = 1 : i64}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
    %rest = arith.remsi %rows, %c2 : index
    %odd = arith.cmpi ne, %rest, %c0 : index
    cf.assert %odd, "an odd number of rows" {moe.of_call}
    %e = tensor.empty(%rows) : tensor<?x4xf32>
    %y = linalg.add ins(%x, %s : tensor<?x4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
    return %y, %y : tensor<?x4xf32>, tensor<?x4xf32>
  }
}
"""


def test_a_refused_first_call_makes_no_states(tmp_path):
    (tmp_path / "m.mlir").write_text(STATEFUL)
    one = {rows: {"x": np.ones((rows, 4), np.float32)} for rows in (5, 6)}
    with Executable(moe_compile(tmp_path / "m.mlir", tmp_path / "m")) as executable:
        for _ in range(2):
            with pytest.raises(ExecutableError, match="an odd number of rows"):
                executable.run(one[6])
            for call in (1, 2, 3):
                assert np.array_equal(executable.run(one[5])["y"], np.full((5, 4), call, np.float32))
            with pytest.raises(ExecutableError, match="the states hold b = 5"):
                executable.run(one[6])
            executable.reset()


Pair = collections.namedtuple("Pair", "first second_one")
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="test_size_guards.Pair")


class OfAPair(torch.nn.Module):
    def forward(self, pair):
        return pair.second_one * (2 if pair.second_one.shape[0] % 2 == 0 else 3) + pair.first.sum()


def test_a_named_tuple(tmp_path):
    rows = {0: torch.export.Dim.AUTO}
    program = torch.export.export(OfAPair(), (Pair(torch.ones(3), torch.ones(4)),), dynamic_shapes=(Pair(rows, rows),))
    torch.export.save(program, tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        first, second = executable.inputs
        [result] = executable.run({first: np.ones(3, np.float32), second: np.ones(6, np.float32)}).values()
        assert np.array_equal(result, np.full(6, 5, np.float32))
        with pytest.raises(ExecutableError, match=r"second_one.size\(\)\[0\]"):
            executable.run({first: np.ones(3, np.float32), second: np.ones(5, np.float32)})


@pytest.mark.parametrize("guard,sizes", [
    # Python ends with an error where `and` and `or` ask what divides by 0.
    ("not (L['x'].size()[0] // (L['y'].size()[0] - 3)) == 2", {(8, 3): False, (8, 7): False, (9, 6): True}),
    ("L['x'].size()[0] > 5 or L['x'].size()[0] // (L['y'].size()[0] - 3) == 2", {(8, 3): True, (4, 3): False, (4, 5): True, (4, 7): False}),
    ("L['x'].size()[0] > 5 and L['x'].size()[0] % (L['y'].size()[0] - 3) == 2", {(8, 3): False, (8, 6): True, (4, 3): False}),
    # No number of 64 bits.
    ("math.floor(L['x'].size()[0] * 1e300) > 5", {(0, 4): False, (1, 4): True}),
    ("math.floor(1e300) // L['x'].size()[0] != 5", {(4, 4): True, (0, 4): False}),
    ("(0 - 9223372036854775807 - 1) // (0 - 2) != L['x'].size()[0]", {(4, 4): True}),
])
def test_what_python_makes_of_it(model, tmp_path, guard, sizes):
    path = edit_program(model, tmp_path / "m.pt2", lambda program: program.update(guards_code=[guard]))
    with Executable(moe_compile(path, tmp_path / "m")) as executable:
        for (m, n), holds in sizes.items():
            inputs = {"x": np.ones((m, 4), np.float32), "y": np.ones((n, 4), np.float32)}
            if holds:
                assert executable.run(inputs)["mul"].shape == (m, 4)
            else:
                with pytest.raises(ExecutableError, match="the model was exported for inputs with"):
                    executable.run(inputs)


def sizes_of(count):
    """A size that nobody uses, of an unused value."""
    return {"dtype": 7, "sizes": [{"as_int": 1}] * count, "requires_grad": False, "device": {"type": "cpu", "index": None}, "strides": [{"as_int": 1}] * count, "storage_offset": {"as_int": 0}, "layout": 7}


# name -> (what becomes of the program, what the error says; None if there need not be one)
LARGE = {
    "guards": (lambda p: p.update(guards_code=[f"L['x'].size()[0] >= -{i}" for i in range(50_000)]), "have more than 50000 terms"),
    "long guards": (lambda p: p.update(guards_code=["+".join(["1"] * (300 + i)) + " >= 2" for i in range(600)]), "have more than 50000 terms"),
    "operands": (lambda p: p.update(guards_code=["max(" + ",".join(map(str, range(2, 300_000))) + ") >= 1"]), "which a program cannot check"),
    "dimensions": (lambda p: p["graph_module"]["graph"]["tensor_values"].update(z=sizes_of(3000)), None),
    "nesting": (lambda p: p["graph_module"]["graph"]["tensor_values"].update(
        z={**sizes_of(1), "sizes": [{"as_expr": {"expr_str": "Integer(" * 200_000 + "1" + ")" * 200_000, "hint": None}}]}), None),
    "ranges": (lambda p: p["range_constraints"].update({f"3*s{i} + 1": {"min_val": 5, "max_val": 9} for i in range(10_000)}), "more than 200 computed sizes have a range"),
    "the least number": (lambda p: p.update(guards_code=["(0 - 9223372036854775807 - 1) // (0 - 1) != 5"]), None),
}


@pytest.mark.parametrize("what", LARGE)
def test_large_conditions(model, tmp_path, what):
    """They cost time and memory in proportion to the file, or are refused, and crash nothing."""
    edit, said = LARGE[what]
    process = compile_model(edit_program(model, tmp_path / "m.pt2", edit), "-o", tmp_path / "m.mlir", "--to=graph", timeout=SECONDS, preexec_fn=limit_memory)
    assert process.returncode in ((2,) if said else (0, 1, 2)), process.stderr
    assert (said or "") in process.stderr
