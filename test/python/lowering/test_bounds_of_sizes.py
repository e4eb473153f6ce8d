"""Sizes and indices that do not fit: an error that says so, or right numbers, and never memory of somebody else.

Each operation is compiled with all sizes dynamic, and run on sizes drawn at random, of which many do not fit."""

import re

import numpy as np
import pytest
from bounds import Operation, check_operation

from moe_mlir import reference as ref


def dispatched(more=""):
    return ("%rows, %layout = moe.dispatch %t, %e num_experts(4) : <t>, <e> -> tensor<?x64xf32>, !moe.layout<4>\n" + more)


def places(experts):
    """The row of each pair."""
    order = np.argsort(experts.reshape(-1), kind="stable")
    rows = np.empty(order.size, int)
    rows[order] = np.arange(order.size)
    return rows.reshape(experts.shape)


def combine(rows, experts, weights):
    return (weights[..., None] * rows[places(experts)]).sum(1)


def attention(x):
    q, k, v = x["q"], x["k"], x["v"]
    scores = np.einsum("bsnd,bld->bsnl", q, k[:, 0]) * 0.25
    seen = (np.arange(k.shape[2]) < x["lengths"][:, None])[:, None, None, :]
    positions = x["positions"][:, None] + np.arange(q.shape[1])
    seen = seen & (np.arange(k.shape[2]) <= positions[..., None])[:, :, None, :]
    mask = np.broadcast_to(x["mask"], (q.shape[0], 2, q.shape[1], k.shape[2]))
    seen = seen & mask.transpose(0, 2, 1, 3)
    p = np.where(seen, np.exp(np.where(seen, scores - scores.max(-1, keepdims=True, initial=0), 0)), 0)
    total = p.sum(-1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=total > 0)
    return np.einsum("bsnl,bld->bsnd", p, v[:, 0])


def same(sizes, *letters):
    return all(len(set(sizes[letter])) == 1 for letter in letters)


def rope(x, cos, sin):
    turned = np.concatenate([-x[..., 2:], x[..., :2]], -1)
    return x * cos[:, :, None] + turned * sin[:, :, None]


def update(x):
    result = x["cache"].copy()
    for b, position in enumerate(x["at"]):
        result[b, 0, position:position + x["rows"].shape[1]] = x["rows"][b, :, 0]
    return result


OPERATIONS = {
    "combine": Operation(
        {"t": ("f32", ["T", 64]), "e": ("i32", ["T", "k"]), "x": ("f32", ["R", 64]), "w": ("f32", ["T", "k"])},
        dispatched("%result = moe.combine %x, %layout weights(%w : <w>) : <x>, !moe.layout<4> -> tensor<?x64xf32>"),
        "tensor<?x64xf32>", lambda x: combine(x["x"], x["e"], x["w"]),
        lambda s, x: same(s, "T", "k") and s["R"][0] == s["T"][0] * s["k"][0]),
    "expert": Operation(
        {"t": ("f32", ["T", 64]), "e": ("i32", ["T", "k"]), "x": ("f32", ["R", 64]), "wi": ("f32", [4, 32, 64]),
         "wo": ("f32", [4, 64, 32]), "w": ("f32", ["T", "k"])},
        dispatched("""%y = moe.expert %x, %layout, %wi, %wo {
          ^bb0(%v: f32):
            moe.yield %v : f32
          } : <x>, !moe.layout<4>, <wi>, <wo> -> tensor<?x64xf32>
          %result = moe.combine %y, %layout weights(%w : <w>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>"""),
        "tensor<?x64xf32>",
        lambda x: combine(np.array([x["wo"][e] @ (x["wi"][e] @ row)
                                    for row, e in zip(x["x"], np.sort(x["e"].reshape(-1)))]).reshape(-1, 64), x["e"],
                          x["w"]),
        lambda s, x: same(s, "T", "k") and s["R"][0] == s["T"][0] * s["k"][0]),
    "weighted dispatch": Operation(
        {"t": ("f32", ["T", 64]), "e": ("i32", ["T", 2]), "w": ("f32", ["T", 2])},
        "%result, %layout = moe.dispatch %t, %e weights(%w : <w>) num_experts(4) : <t>, <e> -> tensor<?x64xf32>, "
        "!moe.layout<4>",
        "tensor<?x64xf32>",
        lambda x: (x["t"][:, None] * x["w"][..., None]).reshape(-1, 64)[np.argsort(x["e"].reshape(-1), kind="stable")]),
    "gate": Operation(
        {"x": ("f32", ["T", 4]), "ids": ("i32", ["T", 2])},
        "%w, %result = moe.gate %x ids(%ids : <ids>) top_k(2) score(softmax) : <x> -> tensor<?x2xf32>, tensor<?x2xi32>",
        "tensor<?x2xi32>", lambda x: x["ids"]),
    "linear": Operation(
        {"x": ("f32", ["T", "K"]), "w": ("f32", ["N", "K"]), "b": ("f32", ["N"])},
        "%result = nn.linear %x, %w bias(%b) : <x>, <w>, <b> -> tensor<?x?xf32>",
        "tensor<?x?xf32>", lambda x: x["x"] @ x["w"].T + x["b"]),
    "linear and a sum": Operation(
        {"x": ("f32", ["T", 8]), "w": ("f32", [64, 8]), "r": ("f32", ["T", 64])},
        """%y = nn.linear %x, %w : <x>, <w> -> <r>
           %result = arith.addf %y, %r : <r>""",
        "tensor<?x64xf32>", lambda x: x["x"] @ x["w"].T + x["r"]),
    "linear, reshaped, and a sum": Operation(
        {"x": ("f32", ["T", 8]), "w": ("f32", [64, 8]), "r": ("f32", ["B", "S", 64])},
        """%c0 = arith.constant 0 : index
           %c1 = arith.constant 1 : index
           %b = tensor.dim %r, %c0 : <r>
           %s = tensor.dim %r, %c1 : <r>
           %y = nn.linear %x, %w : <x>, <w> -> tensor<?x64xf32>
           %z = tensor.expand_shape %y [[0, 1], [2]] output_shape [%b, %s, 64] : tensor<?x64xf32> into <r>
           %result = arith.addf %z, %r : <r>""",
        "tensor<?x?x64xf32>", lambda x: (x["x"] @ x["w"].T).reshape(x["r"].shape) + x["r"],
        lambda s, x: s["T"][0] == s["B"][0] * s["S"][0]),
    "batch_linear": Operation(
        {"x": ("f32", ["T", "G", "K"]), "w": ("f32", ["G", "N", "K"]), "b": ("f32", ["G", "N"])},
        "%result = nn.batch_linear %x, %w bias(%b) : <x>, <w>, <b> -> tensor<?x?x?xf32>",
        "tensor<?x?x?xf32>", lambda x: np.einsum("tgk,gnk->tgn", x["x"], x["w"]) + x["b"]),
    "causal_conv": Operation(
        {"x": ("f32", ["B", "C", "L"]), "w": ("f32", ["C", 3]), "b": ("f32", ["C"])},
        "%result = nn.causal_conv %x, %w bias(%b : <b>) : <x>, <w> -> <x>",
        "tensor<?x?x?xf32>", lambda x: ref.causal_conv(x["x"], x["w"], x["b"])),
    "scan": Operation(
        {"q": ("f32", ["B", "S", 2, 4]), "k": ("f32", ["B", "S", 2, 4]), "v": ("f32", ["B", "S", 4, 8]),
         "d": ("f32", ["B", "S", 4]), "h": ("f32", ["B", 4, 4, 8])},
        """%size = math.absf %d : <d>
           %decay = arith.negf %size : <d>
           %result, %next = nn.scan %q, %k, %v decay(%decay : <d>) state(%h : <h>) : <q>, <k>, <v> -> <v>""",
        "tensor<?x?x4x8xf32>", lambda x: ref.scan(x["q"], x["k"], x["v"], -np.abs(x["d"]), state=x["h"])[0]),
    "rms_norm": Operation(
        {"x": ("f32", ["T", "N"]), "w": ("f32", ["N"])},
        "%result = nn.rms_norm %x, %w eps(1.0) : <x>, <w>",
        "tensor<?x?xf32>", lambda x: x["w"] * x["x"] / np.sqrt((x["x"]**2).mean(1, keepdims=True) + 1)),
    "rope": Operation(
        {"x": ("f32", ["B", "S", 2, 4]), "c": ("f32", ["C", "S", 4]), "s": ("f32", ["D", "S", 4])},
        "%result = nn.rope %x, %c, %s : <x>, <c>, <s>",
        "tensor<?x?x2x4xf32>", lambda x: rope(x["x"], x["c"], x["s"]),
        lambda s, x: same(s, "S") and s["C"][0] in (1, s["B"][0]) and s["D"][0] in (1, s["B"][0])),
    "attention": Operation(
        {"q": ("f32", ["B", "S", 2, 16]), "k": ("f32", ["B", 1, "L", 16]), "v": ("f32", ["B", 1, "L", 16]),
         "positions": ("i64", ["B"]), "lengths": ("i32", ["B"]), "mask": ("i1", ["C", "H", "S", "L"])},
        """%result = nn.attention %q, %k, %v positions(%positions : <positions>) lengths(%lengths : <lengths>)
             mask(%mask : <mask>) scale(0.25) causal : <q>, <k>, <v> -> <q>""",
        "tensor<?x?x2x16xf32>", attention,
        lambda s, x: same(s, "B", "S", "L") and s["C"][0] in (1, s["B"][0]) and s["H"][0] in (1, 2)),
    "cache_update": Operation(
        {"cache": ("f32", ["B", 1, "L", 8]), "rows": ("f32", ["B", "S", 1, 8]), "at": ("i64", ["B"])},
        "%result = nn.cache_update %cache, %rows positions(%at) : <cache>, <rows>, <at>",
        "tensor<?x1x?x8xf32>", update,
        lambda s, x: same(s, "B") and (x["at"] + s["S"][0] <= s["L"][0]).all() and s["S"][0] <= s["L"][0],
        {"at": 4}),
    "embedding": Operation(
        {"ids": ("i64", ["T"]), "table": ("f32", ["V", "H"])},
        "%result = nn.embedding %ids, %table : <ids>, <table> -> tensor<?x?xf32>",
        "tensor<?x?xf32>", lambda x: x["table"][x["ids"]], lambda s, x: (x["ids"] < s["V"][0]).all(), {"ids": 7}),
    "elementwise": Operation(
        {"x": ("f32", ["T", "N"]), "y": ("f32", ["T", "N"])},
        "%result = arith.addf %x, %y : <x>",
        "tensor<?x?xf32>", lambda x: x["x"] + x["y"]),
    "product": Operation(
        {"x": ("f32", ["M", "K"]), "y": ("f32", ["K", "N"]), "z": ("f32", ["M", "N"])},
        "%result = linalg.matmul ins(%x, %y : <x>, <y>) outs(%z : <z>) -> <z>",
        "tensor<?x?xf32>", lambda x: x["x"] @ x["y"] + x["z"]),
    "window": Operation(
        {"x": ("f32", ["L"]), "f": ("f32", ["W"]), "z": ("f32", ["O"])},
        """%result = linalg.generic {indexing_maps = [affine_map<(o, w) -> (o * 2 + w)>, affine_map<(o, w) -> (w)>,
               affine_map<(o, w) -> (o)>], iterator_types = ["parallel", "reduction"]}
               ins(%x, %f : <x>, <f>) outs(%z : <z>) {
             ^bb0(%a: f32, %b: f32, %c: f32):
               %p = arith.mulf %a, %b : f32
               %s = arith.addf %p, %c : f32
               linalg.yield %s : f32
             } -> <z>""",
        "tensor<?xf32>",
        lambda x: np.array([z + (x["x"][2 * o:2 * o + len(x["f"])] * x["f"]).sum() for o, z in enumerate(x["z"])],
                           np.float32).reshape(x["z"].shape),
        lambda s, x: s["O"][0] * s["W"][0] == 0 or 2 * (s["O"][0] - 1) + s["W"][0] <= s["L"][0]),
    "gather": Operation(
        {"x": ("f32", ["V", "N"]), "i": ("i32", ["T"]), "z": ("f32", ["T", "N"])},
        """%result = linalg.generic {indexing_maps = [affine_map<(t, n) -> (t)>, affine_map<(t, n) -> (t, n)>],
               iterator_types = ["parallel", "parallel"]} ins(%i : <i>) outs(%z : <z>) {
             ^bb0(%at: i32, %c: f32):
               %row = arith.index_cast %at : i32 to index
               %n = linalg.index 1 : index
               %v = tensor.extract %x[%row, %n] : <x>
               linalg.yield %v : f32
             } -> <z>""",
        "tensor<?x?xf32>", lambda x: x["x"][x["i"]],
        lambda s, x: s["T"][0] == s["T"][1] and (s["T"][0] * s["N"][1] == 0 or
                                                 (s["N"][1] <= s["N"][0] and (x["i"] < s["V"][0]).all())), {"i": 7}),
    "gather twice": Operation(
        {"x": ("f32", ["V"]), "j": ("i32", ["J"]), "i": ("i32", ["T"]), "z": ("f32", ["T"])},
        """%result = linalg.generic {indexing_maps = [affine_map<(t) -> (t)>, affine_map<(t) -> (t)>],
               iterator_types = ["parallel"]} ins(%i : <i>) outs(%z : <z>) {
             ^bb0(%at: i32, %c: f32):
               %first = arith.index_cast %at : i32 to index
               %second = tensor.extract %j[%first] : <j>
               %row = arith.index_cast %second : i32 to index
               %v = tensor.extract %x[%row] : <x>
               linalg.yield %v : f32
             } -> <z>""",
        "tensor<?xf32>", lambda x: x["x"][x["j"][x["i"]]],
        lambda s, x: same(s, "T") and (x["i"] < s["J"][0]).all() and (x["j"][x["i"]] < s["V"][0]).all(),
        {"i": 5, "j": 6}),
    "expand": Operation(
        {"x": ("f32", ["T", 4]), "y": ("f32", ["B", "S"])},
        """%c0 = arith.constant 0 : index
           %c1 = arith.constant 1 : index
           %b = tensor.dim %y, %c0 : <y>
           %s = tensor.dim %y, %c1 : <y>
           %result = tensor.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 4] : <x> into tensor<?x?x4xf32>""",
        "tensor<?x?x4xf32>", lambda x: x["x"].reshape(*x["y"].shape, 4),
        lambda s, x: s["T"][0] == s["B"][0] * s["S"][0]),
    "halves": Operation(
        {"x": ("f32", ["T", 4])},
        """%c0 = arith.constant 0 : index
           %c2 = arith.constant 2 : index
           %t = tensor.dim %x, %c0 : <x>
           %h = arith.divui %t, %c2 : index
           %result = tensor.expand_shape %x [[0, 1], [2]] output_shape [%h, 2, 4] : <x> into tensor<?x2x4xf32>""",
        "tensor<?x2x4xf32>", lambda x: x["x"].reshape(-1, 2, 4), lambda s, x: s["T"][0] % 2 == 0),
    "reshape": Operation(
        {"x": ("f32", ["T", "N"]), "y": ("f32", ["B", "S"])},
        """%c0 = arith.constant 0 : index
           %c1 = arith.constant 1 : index
           %b = tensor.dim %y, %c0 : <y>
           %s = tensor.dim %y, %c1 : <y>
           %shape = tensor.from_elements %b, %s : tensor<2xindex>
           %result = tensor.reshape %x(%shape) : (<x>, tensor<2xindex>) -> tensor<?x?xf32>""",
        "tensor<?x?xf32>", lambda x: x["x"].reshape(x["y"].shape),
        lambda s, x: s["T"][0] * s["N"][0] == s["B"][0] * s["S"][0]),
    "cast": Operation(
        {"x": ("f32", ["T", 4])},
        "%result = tensor.cast %x : <x> to tensor<3x4xf32>", "tensor<3x4xf32>", lambda x: x["x"],
        lambda s, x: s["T"][0] == 3),
    "slice": Operation(
        {"x": ("f32", ["T", 4]), "y": ("f32", ["O", "S"])},
        """%c0 = arith.constant 0 : index
           %c1 = arith.constant 1 : index
           %o = tensor.dim %y, %c0 : <y>
           %s = tensor.dim %y, %c1 : <y>
           %result = tensor.extract_slice %x[%o, 1] [%s, 2] [2, 1] : <x> to tensor<?x2xf32>""",
        "tensor<?x2xf32>", lambda x: x["x"][len(x["y"]):, 1:3][:2 * x["y"].shape[1]:2],
        lambda s, x: s["S"][0] == 0 or s["O"][0] + 2 * (s["S"][0] - 1) < s["T"][0]),
    "insert": Operation(
        {"x": ("f32", ["T", 4]), "s": ("f32", ["S", 2]), "y": ("f32", ["O", "S"])},
        """%c0 = arith.constant 0 : index
           %c1 = arith.constant 1 : index
           %o = tensor.dim %y, %c0 : <y>
           %n = tensor.dim %y, %c1 : <y>
           %result = tensor.insert_slice %s into %x[%o, 2] [%n, 2] [1, 1] : <s> into <x>""",
        "tensor<?x4xf32>",
        lambda x: np.concatenate([x["x"][:, :2], np.concatenate(
            [x["x"][:len(x["y"]), 2:], x["s"], x["x"][len(x["y"]) + len(x["s"]):, 2:]])], 1),
        lambda s, x: same(s, "S") and s["O"][0] + s["S"][0] <= s["T"][0]),
    "concat": Operation(
        {"x": ("f32", ["T", "N"]), "y": ("f32", ["T", "M"])},
        "%result = tensor.concat dim(1) %x, %y : (<x>, <y>) -> tensor<?x?xf32>",
        "tensor<?x?xf32>", lambda x: np.concatenate([x["x"], x["y"]], 1)),
    "concat to a static size": Operation(
        {"x": ("f32", ["T", 4]), "y": ("f32", ["S", 4])},
        "%result = tensor.concat dim(0) %x, %y : (<x>, <y>) -> tensor<6x4xf32>",
        "tensor<6x4xf32>", lambda x: np.concatenate([x["x"], x["y"]]), lambda s, x: s["T"][0] + s["S"][0] == 6),
    "pad": Operation(
        {"x": ("f32", ["T"]), "y": ("f32", ["L"])},
        """%c0 = arith.constant 0 : index
           %c3 = arith.constant 3 : index
           %l = tensor.dim %y, %c0 : <y>
           %low = arith.subi %l, %c3 : index
           %zero = arith.constant 0.0 : f32
           %result = tensor.pad %x low[%low] high[1] {
           ^bb0(%i: index):
             tensor.yield %zero : f32
           } : <x> to tensor<?xf32>""",
        "tensor<?xf32>", lambda x: np.pad(x["x"], (len(x["y"]) - 3, 1)), lambda s, x: s["L"][0] >= 3),
    "one element": Operation(
        {"x": ("f32", ["T", 4]), "y": ("f32", ["O"])},
        """%c0 = arith.constant 0 : index
           %o = tensor.dim %y, %c0 : <y>
           %v = tensor.extract %x[%o, %c0] : <x>
           %result = tensor.splat %v : tensor<2xf32>""",
        "tensor<2xf32>", lambda x: np.full(2, x["x"][len(x["y"]), 0]), lambda s, x: s["O"][0] < s["T"][0]),
    "division of sizes": Operation(
        {"x": ("f32", ["T"]), "y": ("f32", ["D"])},
        """%c0 = arith.constant 0 : index
           %t = tensor.dim %x, %c0 : <x>
           %d = tensor.dim %y, %c0 : <y>
           %n = arith.divui %t, %d : index
           %result = tensor.extract_slice %x[0] [%n] [1] : <x> to tensor<?xf32>""",
        "tensor<?xf32>", lambda x: x["x"][:len(x["x"]) // len(x["y"])], lambda s, x: s["D"][0] > 0),
}

# A claim of the import about the elements of an argument, in a text that was edited since.
for claimed in ("attention", "cache_update", "embedding"):
    plain = OPERATIONS[claimed]
    OPERATIONS[claimed + ", claimed to fit"] = Operation(
        plain.arguments, re.sub(r" :( <\w+>, )", r" {moe.in_bounds} :\1", plain.body, count=1), plain.result, plain.compute, plain.fits, plain.highest)


@pytest.mark.parametrize("name", OPERATIONS)
def test_sizes_that_do_not_fit(name):
    check_operation(OPERATIONS[name], seed=len(name))
