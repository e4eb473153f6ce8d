"""Numbers that a program loads and takes as sizes, places and counts: whatever they are, it ends with an error that says
so, or gives right numbers. Sums and products of some are beyond 64 bits."""

import numpy as np
import pytest
from bounds import Operation, check_operation

MOST, LEAST = 2**63 - 1, -(2**63)
FEW = [0, 1, 2, 3]
WILD = [*FEW, *FEW, -1, 5, 2**31, 2**32, 2**61, 2**62, MOST - 1, MOST, LEAST, LEAST + 1, -(2**62), -(2**32)]
# Products of two of them are 0, 1 or -1 modulo 2^64.
FACTORS = [*FEW, *FEW, -1, 2**32, 2**61, 2**63 - 1, LEAST, 2**32 + 1, 2**32 - 1, -6148914691236517205]


def load(names, array="n"):
    """Index values of the first elements of an i64 argument."""
    lines = []
    for i, name in enumerate(names.split()):
        lines.append(f"%at_{name} = arith.constant {i} : index")
        lines.append(f"%long_{name} = tensor.extract %{array}[%at_{name}] : <{array}>")
        lines.append(f"%{name} = arith.index_cast %long_{name} : i64 to index")
    return "\n".join(lines) + "\n"


def numbers(x):
    return [int(value) for value in x["n"]]


def takes(x, whole):
    """Whether a slice lies in `whole` elements. One element may be taken more often than memory holds, and one alone with
    any step; both may be refused."""
    first, count, step = numbers(x)
    if (step == 0 and count > 9) or (count == 1 and abs(step) > 9):
        return None
    last = first + (count - 1) * step
    return count == 0 or (count > 0 and 0 <= first < whole and 0 <= last < whole)


def sliced(x):
    first, count, step = numbers(x)
    return x["x"][first + step * np.arange(count)]


def room(x, at=0):
    """Whether what is written there has place in x."""
    return 0 <= numbers(x)[at] <= len(x["x"]) - len(x["s"])


def inserted(x):
    result, at = x["x"].copy(), numbers(x)[0]
    result[at:at + len(x["s"])] = x["s"]
    return result


def reshaped(x):
    """What stands at 0 in each of n[0] parts."""
    count, each = numbers(x)
    return x["x"][::each] if count else x["x"]


def is_product(x):
    count, each = numbers(x)
    return count >= 0 and each >= 1 and count * each == len(x["x"])


def largest(x):
    count = numbers(x)[0]
    rows = -np.sort(-x["x"], axis=-1)[:, :count]
    return np.pad(rows, ((0, 0), (0, count - rows.shape[1])))


OPERATIONS = {
    "element": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [1])},
        load("i") + """%v = tensor.extract %x[%i] : <x>
           %result = tensor.splat %v : tensor<2xf32>""",
        "tensor<2xf32>", lambda x: np.full(2, x["x"][numbers(x)[0]]), lambda s, x: 0 <= numbers(x)[0] < s["T"][0],
        values={"n": WILD}),
    "element behind a sum": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [2])},
        load("i j") + """%k = arith.addi %i, %j : index
           %v = tensor.extract %x[%k] : <x>
           %result = tensor.splat %v : tensor<2xf32>""",
        "tensor<2xf32>", lambda x: np.full(2, x["x"][sum(numbers(x))]), lambda s, x: 0 <= sum(numbers(x)) < s["T"][0],
        values={"n": WILD}),
    "the same element of each row": Operation(
        {"x": ("f32", ["T", "N"]), "z": ("f32", ["T"]), "n": ("i64", [1])},
        load("j") + """%result = linalg.generic {indexing_maps = [affine_map<(t) -> (t)>], iterator_types = ["parallel"]}
             outs(%z : <z>) {
           ^bb0(%c: f32):
             %t = linalg.index 0 : index
             %v = tensor.extract %x[%t, %j] : <x>
             linalg.yield %v : f32
           } -> <z>""",
        "tensor<?xf32>", lambda x: x["x"][:len(x["z"]), numbers(x)[0]],
        lambda s, x: s["T"][1] == 0 or (s["T"][1] <= s["T"][0] and 0 <= numbers(x)[0] < s["N"][0]), values={"n": WILD}),
    "slice": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [2])},
        load("i c") + "%result = tensor.extract_slice %x[%i] [%c] [1] : <x> to tensor<?xf32>",
        "tensor<?xf32>", lambda x: x["x"][numbers(x)[0]:sum(numbers(x))],
        lambda s, x: min(numbers(x)) >= 0 and sum(numbers(x)) <= s["T"][0], values={"n": WILD}),
    "slice with steps of 3": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [2])},
        load("i c") + "%result = tensor.extract_slice %x[%i] [%c] [3] : <x> to tensor<?xf32>",
        "tensor<?xf32>", lambda x: x["x"][numbers(x)[0]::3][:numbers(x)[1]],
        lambda s, x: takes({"n": [*numbers(x), 3]}, s["T"][0]), values={"n": WILD}),
    "slice with any steps": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [3])},
        load("i c s") + "%result = tensor.extract_slice %x[%i] [%c] [%s] : <x> to tensor<?xf32>",
        "tensor<?xf32>", sliced, lambda s, x: takes(x, s["T"][0]), values={"n": FACTORS}),
    "insert": Operation(
        {"x": ("f32", ["T"]), "s": ("f32", ["S"]), "n": ("i64", [1])},
        load("i") + """%c0 = arith.constant 0 : index
           %c = tensor.dim %s, %c0 : <s>
           %result = tensor.insert_slice %s into %x[%i] [%c] [1] : <s> into <x>""",
        "tensor<?xf32>", inserted, lambda s, x: room(x), values={"n": WILD}),
    "pad": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [2])},
        load("i j") + """%zero = arith.constant 0.0 : f32
           %result = tensor.pad %x low[%i] high[%j] {
           ^bb0(%k: index):
             tensor.yield %zero : f32
           } : <x> to tensor<?xf32>""",
        "tensor<?xf32>", lambda x: np.pad(x["x"], numbers(x)), lambda s, x: 0 <= min(numbers(x)) <= max(numbers(x)) < 9,
        values={"n": WILD}),
    "expand": Operation(
        {"x": ("f32", ["T", 4]), "z": ("f32", ["Z", 4]), "n": ("i64", [2])},
        load("b s") + """%y = tensor.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 4] : <x> into tensor<?x?x4xf32>
           %c0 = arith.constant 0 : index
           %some = tensor.extract_slice %y[0, 0, 0] [%b, 1, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
           %result = tensor.concat dim(0) %some, %z : (tensor<?x4xf32>, <z>) -> tensor<?x4xf32>""",
        "tensor<?x4xf32>", lambda x: np.concatenate([reshaped(x), x["z"]]),
        lambda s, x: is_product(x), values={"n": FACTORS}),
    "reshape": Operation(
        {"x": ("f32", ["T"]), "z": ("f32", ["Z"]), "n": ("i64", [2])},
        load("b s") + """%shape = tensor.from_elements %b, %s : tensor<2xindex>
           %y = tensor.reshape %x(%shape) : (<x>, tensor<2xindex>) -> tensor<?x?xf32>
           %some = tensor.extract_slice %y[0, 0] [%b, 1] [1, 1] : tensor<?x?xf32> to tensor<?xf32>
           %result = tensor.concat dim(0) %some, %z : (tensor<?xf32>, <z>) -> tensor<?xf32>""",
        "tensor<?xf32>", lambda x: np.concatenate([reshaped(x), x["z"]]),
        lambda s, x: is_product(x), values={"n": FACTORS}),
    "buffer": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [1])},
        load("c") + """%one = arith.constant 1.0 : f32
           %e = tensor.empty(%c) : tensor<?xf32>
           %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
           %result = tensor.concat dim(0) %f, %x : (tensor<?xf32>, <x>) -> tensor<?xf32>""",
        "tensor<?xf32>", lambda x: np.concatenate([np.ones(numbers(x)[0], np.float32), x["x"]]),
        lambda s, x: 0 <= numbers(x)[0] < 9, values={"n": WILD}),
    "buffer of two sizes": Operation(
        {"x": ("f32", ["T", 1]), "n": ("i64", [2])},
        load("b c") + """%one = arith.constant 1.0 : f32
           %e = tensor.empty(%b, %c) : tensor<?x?xf32>
           %f = linalg.fill ins(%one : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
           %some = tensor.extract_slice %f[0, 0] [%b, 1] [1, 1] : tensor<?x?xf32> to tensor<?x1xf32>
           %result = tensor.concat dim(0) %some, %x : (tensor<?x1xf32>, <x>) -> tensor<?x1xf32>""",
        "tensor<?x1xf32>", lambda x: np.concatenate([np.ones((numbers(x)[0], 1), np.float32), x["x"]]),
        # A huge size times nothing may be refused.
        lambda s, x: 0 <= numbers(x)[0] < 9 and (1 <= numbers(x)[1] < 9 or (numbers(x)[0] == 0 < numbers(x)[1] and None)),
        values={"n": FACTORS}),
    "buffer of a product": Operation(
        {"x": ("f32", ["T"]), "n": ("i64", [2])},
        load("b c") + """%one = arith.constant 1.0 : f32
           %n2 = arith.muli %b, %c : index
           %e = tensor.empty(%n2) : tensor<?xf32>
           %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
           %result = tensor.concat dim(0) %f, %x : (tensor<?xf32>, <x>) -> tensor<?xf32>""",
        "tensor<?xf32>", lambda x: np.concatenate([np.ones(numbers(x)[0] * numbers(x)[1], np.float32), x["x"]]),
        # A huge size times nothing may be refused.
        lambda s, x: 0 <= numbers(x)[0] * numbers(x)[1] < 99 and (max(map(abs, numbers(x))) < 9 or None), values={"n": FACTORS}),
    "buffer of many times a size": Operation(
        {"x": ("f32", ["T"]), "y": ("f32", ["S"])},
        """%c0 = arith.constant 0 : index
           %c2 = arith.constant 2 : index
           %most = arith.constant 2305843009213693952 : index
           %one = arith.constant 1.0 : f32
           %t = tensor.dim %x, %c0 : <x>
           %less = arith.subi %t, %c2 : index
           %n2 = arith.muli %less, %most : index
           %e = tensor.empty(%n2) : tensor<?xf32>
           %f = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
           %result = tensor.concat dim(0) %f, %y : (tensor<?xf32>, <y>) -> tensor<?xf32>""",
        "tensor<?xf32>", lambda x: x["y"], lambda s, x: s["T"][0] == 2),
    "top_k": Operation(
        {"x": ("f32", [2, "N"]), "n": ("i64", [1])},
        load("k") + "%result, %i = nn.top_k %x count(%k) : <x> -> tensor<2x?xf32>, tensor<2x?xi64>",
        "tensor<2x?xf32>", largest, lambda s, x: 0 <= numbers(x)[0] < 9, values={"n": WILD}),
    "top_k unordered": Operation(
        {"x": ("f32", ["T", 3]), "n": ("i64", [1])},
        load("k") + """%c0 = arith.constant 0 : index
           %v, %i = nn.top_k %x count(%k) unordered : <x> -> tensor<?x?xf32>, tensor<?x?xi64>
           %t = tensor.dim %x, %c0 : <x>
           %result = tensor.extract_slice %v[0, 3] [%t, 1] [1, 1] : tensor<?x?xf32> to tensor<?x1xf32>""",
        "tensor<?x1xf32>", lambda x: np.zeros((len(x["x"]), 1)), lambda s, x: 4 <= numbers(x)[0] < 9, values={"n": WILD}),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_numbers_that_do_not_fit(name):
    check_operation(OPERATIONS[name], seed=len(name), draws=120)
