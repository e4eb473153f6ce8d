"""Writes a family's checkpoint (bf16) as a GGUF file of llama.cpp: `python -m moe_bench.families.ggufs CHECKPOINT DTYPE FILE`.

Matrices are of DTYPE, so that float32 rows widen the same bf16 weights. There is no vocabulary: rows are made of token numbers.
"""

import sys

import gguf
import numpy as np

from ...tensorfile import widen
from .convert import converted


def add(writer, key, value):
    """A hyperparameter, in the type that llama.cpp reads it in."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def write(checkpoint, dtype, target):
    """Writes the file."""
    architecture, hyperparameters, tensors = converted(checkpoint)
    writer = gguf.GGUFWriter(target, architecture)
    writer.add_tokenizer_model("none")
    for key, value in hyperparameters.items():
        add(writer, f"{architecture}.{key}", value)
    for name, values in tensors:
        if values.dtype == np.uint16 and dtype == "bfloat16":
            writer.add_tensor(name, np.ascontiguousarray(values).view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, np.ascontiguousarray(widen(values) if values.dtype == np.uint16 else values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(*sys.argv[1:])
