"""Makes what all sides of a layer's rows read: `python -m moe_bench.layers.data SHAPE FOLDER`.

weights.safetensors       w_in [E, 2 I, H] (gate first, then up) and w_out [E, H, I], normal numbers of unit gain, rounded to bf16: float32 rows widen them
T<tokens>-<routing>/      of n inputs: x.npy [n, T, H] float32 (rounded to bf16), ids.npy [n, T, k] int32 (distinct within a token), weights.npy [n, T, k]
                          float32 (their sum is 1)

Everything is seeded by names, so that a folder made again is the same.
"""

import json
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np

from .rows import ROUTINGS, SHAPES

ALIGNMENT = 4096


def seed(*names):
    return zlib.crc32("/".join(map(str, names)).encode())


def route(shape, tokens, routing, random):
    """Experts [T, k] and their weights [T, k]. Distinct experts by their popularity: the k largest of log(popularity) + Gumbel noise."""
    popularity = np.ones(shape.experts) if routing == "uniform" else 1.0 / np.arange(1, shape.experts + 1)
    keys = np.log(random.permutation(popularity)) + random.gumbel(size=(tokens, shape.experts))
    ids = np.argsort(-keys, axis=1)[:, : shape.k].astype(np.int32)
    scores = np.exp(random.standard_normal((tokens, shape.k)))
    return ids, (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)


def rounded_to_bf16(values):
    """float32 numbers that bf16 holds."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def write_case(shape, tokens, routing, folder):
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed(shape.name, tokens, routing))
    count = shape.inputs(tokens)
    # One routing for all inputs: the popular experts stay popular.
    ids, weights = (a.reshape(count, tokens, shape.k) for a in route(shape, count * tokens, routing, random))
    np.save(folder / "ids.npy", ids)
    np.save(folder / "weights.npy", weights)
    np.save(folder / "x.npy", rounded_to_bf16(random.standard_normal((count, tokens, shape.hidden))))


def write_weights(shape, path):
    """The safetensors file, written expert by expert; its tensors begin at multiples of a page."""
    import torch

    shapes = {"w_in": (shape.experts, 2 * shape.inner, shape.hidden), "w_out": (shape.experts, shape.hidden, shape.inner)}
    header, begin = {}, 0
    for name, size in shapes.items():
        end = begin + 2 * int(np.prod(size))
        header[name] = {"dtype": "BF16", "shape": size, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, size in shapes.items():
            for expert in range(size[0]):
                generator = torch.Generator().manual_seed(seed(shape.name, name, expert))
                block = torch.empty(size[1:]).normal_(generator=generator).mul_(size[-1] ** -0.5).bfloat16()
                file.write(block.view(torch.uint16).numpy())


def make(shape, folder):
    temporary = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    for tokens in shape.tokens:
        for routing in ROUTINGS:
            write_case(shape, tokens, routing, temporary / f"T{tokens}-{routing}")
    write_weights(shape, temporary / "weights.safetensors")
    temporary.rename(folder)


if __name__ == "__main__":
    make(next(s for s in SHAPES if s.name == sys.argv[1]), Path(sys.argv[2]))
