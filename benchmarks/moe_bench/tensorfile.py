"""Tensors of a safetensors file, with NumPy alone."""

import json
import mmap

import numpy as np


def bits_of(path, wide=False):
    """{name: bits of bf16 (uint16)}, mapped from the file; with `wide` there may be tensors of float32, which are that."""
    types = {"BF16": np.uint16, **({"F32": np.float32} if wide else {})}
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        begin = file.tell()
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in types:
            raise ValueError(f"'{path}': '{name}' is of {entry['dtype']}; {' or '.join(types)} was expected")
        kind, (first, last) = np.dtype(types[entry["dtype"]]), entry["data_offsets"]
        arrays[name] = np.frombuffer(mapped, kind, (last - first) // kind.itemsize, begin + first).reshape(entry["shape"])
    return arrays


def widen(bits):
    """bf16 bits as float32."""
    wide = np.empty(bits.shape, np.uint32)
    np.left_shift(bits, 16, out=wide, dtype=np.uint32)
    return wide.view(np.float32)
