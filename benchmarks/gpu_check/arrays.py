"""Element types of MLIR as NumPy arrays: bf16 and f16 are bits (uint16)."""

import re

import numpy as np

TYPES = {"bf16": np.uint16, "f16": np.uint16, "f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.uint8, "index": np.int64}  # fmt: skip
# What memory holds before a kernel writes it: NaN and numbers that are no index.
POISON = {"bf16": 0x7FC0, "f16": 0x7E00, "f32": np.nan, "f64": np.nan}


def dtype_of(element):
    return np.dtype(TYPES[element])


def poison(element):
    return POISON.get(element, -7 if dtype_of(element).kind == "i" else 0xA5)


def to_bits(x, element):
    """float32 numbers, rounded to nearest even."""
    if element == "f32":
        return np.ascontiguousarray(x, np.float32)
    if element == "f16":
        return np.asarray(x, np.float32).astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_numbers(array, element):
    """As numbers that NumPy computes with: float32 for bf16 and f16."""
    if element == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.view(np.float16).astype(np.float32) if element == "f16" else array


def pack(weight, recipe):
    """A weight [..., N, K] after the recipe `[#moe.pack<...>]`: blocks of columns, each a row of K steps.

    `weight` is a NumPy array or a torch tensor. `halves`: a block holds half of its columns from the first half of N, half from the second.
    """
    if not recipe:
        return weight
    steps = re.findall(r"#moe\.(\w+)<([^>]*)>", recipe)
    if [name for name, _ in steps] != ["pack"]:
        raise ValueError(f"a parameter with the recipe {recipe}")
    options = dict(part.split(" = ") for part in steps[0][1].split(", "))
    columns, depth = int(options["columns"]), int(options.get("pairs", options.get("depth", 1)))
    if options.get("halves") == "true":
        half = columns // 2
        n = weight.shape[-2] // 2
        parts = [padded(part, half, 1) for part in (weight[..., :n, :], weight[..., n:, :])]
        shape = (*weight.shape[:-2], -1, half, weight.shape[-1])
        weight = concatenate([part.reshape(shape) for part in parts], -2).reshape(*weight.shape[:-2], -1, weight.shape[-1])
    weight = padded(weight, columns, depth)
    *leading, n, k = weight.shape
    return weight.reshape(*leading, n // columns, columns, k // depth, depth).swapaxes(-3, -2)


def padded(weight, rows, columns):
    """With zeros up to multiples in the last two dimensions."""
    *leading, n, k = weight.shape
    more = -n % rows, -k % columns
    if not any(more):
        return weight
    if isinstance(weight, np.ndarray):
        return np.pad(weight, [(0, 0)] * len(leading) + [(0, more[0]), (0, more[1])])
    import torch

    return torch.nn.functional.pad(weight, (0, more[1], 0, more[0]))


def concatenate(parts, axis):
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis)
    import torch

    return torch.cat(parts, axis)
