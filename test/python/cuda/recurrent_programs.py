"""Recurrent ops as programs: a graph, and inputs by the names of its arguments."""

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
KINDS = [(decay, delta) for decay in ("heads", "channels", "elements") for delta in (False, True)]


def scan_program(decay, delta, random):
    """`nn.scan` of two sequences of five tokens with a state: decay of a head, of each channel of the key or of each element; sum or delta rule."""
    m, n, k, v = 2, 4, 6, 70
    last = {"heads": [], "channels": [k], "elements": [v]}[decay]
    shapes = {"q": [m, k], "k": [m, k], "v": [n, v], "d": [n, *last]}
    if delta:
        shapes["b"] = [n]
    types = {name: "x".join(["?x?", *map(str, shape)]) for name, shape in shapes.items()}
    if decay == "elements":
        types["r"] = f"{n}x{k}x{v}"
    types["h"] = f"?x{n}x{k}x{v}"
    text = ", ".join(f'%{name}: tensor<{t}xf32> {{moe.name = "{name}"}}' for name, t in types.items())
    clauses = " ".join(f"{word}(%{name} : tensor<{types[name]}xf32>)" for word, name in (("decay", "d"), ("rates", "r"), ("beta", "b"), ("state", "h"))
                       if name in types)  # fmt: skip
    of_keys, of_values, of_state = (f"tensor<{types[name]}xf32>" for name in "qvh")
    graph = f"""
    func.func @main({text}) -> ({of_values} {{moe.name = "y"}}, {of_state} {{moe.name = "n"}}) {{
      %y, %n = nn.scan %q, %k, %v {clauses} : {of_keys}, {of_keys}, {of_values} -> {of_values}
      return %y, %n : {of_values}, {of_state}
    }}"""
    inputs = {name: random.normal(size=(2, 5, *shape)).astype(np.float32) for name, shape in shapes.items()}
    inputs["d"], inputs["k"] = -np.abs(inputs["d"]), inputs["k"] / 3
    if decay == "elements":
        inputs["r"] = random.random((n, k, v), np.float32)
    inputs["h"] = random.normal(size=(2, n, k, v)).astype(np.float32)
    return graph, inputs


def conv_program(random):
    """`nn.causal_conv` of bf16 with a bias and silu, over two sequences of 45 tokens."""
    of_x, of_w, of_b = "tensor<?x6x?xbf16>", "tensor<6x4xbf16>", "tensor<6xbf16>"
    graph = f"""
    func.func @main(%x: {of_x} {{moe.name = "x"}}, %w: {of_w} {{moe.name = "w"}}, %b: {of_b} {{moe.name = "b"}}) -> ({of_x} {{moe.name = "y"}}) {{
      %y = nn.causal_conv %x, %w bias(%b : {of_b}) silu : {of_x}, {of_w} -> {of_x}
      return %y : {of_x}
    }}"""
    sizes = {"x": (2, 6, 45), "w": (6, 4), "b": (6,)}
    return graph, {name: random.normal(size=size).astype(BF16).astype(np.float32) for name, size in sizes.items()}
