"""What divided experts can bring where every rank computes the dense half: from bytes, routing and bandwidth."""

import json
import struct

from ..layers.rows import ELEMENT_BYTES


def dense_bytes(checkpoint, row):
    """Bytes of a decode step that every rank reads: weights but those of experts, of the embedding the rows of the tokens, and the cache."""
    with open(checkpoint / "model.safetensors", "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__" and ".experts." not in name and "embed_tokens" not in name:
            begin, end = tensor["data_offsets"]
            total += end - begin
    config = json.loads((checkpoint / "config.json").read_text())
    heads, width, layers = config["num_key_value_heads"], config["head_dim"], config["num_hidden_layers"]
    element = ELEMENT_BYTES[row.dtype]
    embedded = row.batch * config["hidden_size"] * element
    return total + embedded + 2 * layers * row.batch * heads * width * (row.length + 1) * element


def expert_bytes(checkpoint, row):
    """Of one expert."""
    config = json.loads((checkpoint / "config.json").read_text())
    return 3 * config["hidden_size"] * config["moe_intermediate_size"] * ELEMENT_BYTES[row.dtype]


def bound(dense, expert, expert_rows, ranks, bandwidth, core_bandwidth, axis="ep"):
    """The largest possible ratio of one process's time to that of the ranks.

    dense           bytes that each rank reads, or its part of, and the process once
    expert          bytes of an expert
    expert_rows     [layers][experts]: rows in this call
    bandwidth       of all cores together, of which each rank has one
    core_bandwidth  of one core while the others rest
    axis            ep: a rank has a part of the experts; etp: it has a part of each expert; tp: and of all else

    In each layer the ranks wait for the one that has most of its experts, and nobody for more than the memory gives.
    """
    one = dense / bandwidth
    part = dense / ranks if axis == "tp" else dense
    divided = max(part / core_bandwidth, ranks * part / bandwidth)
    for layer in expert_rows:
        each = len(layer) // ranks
        active = [sum(n > 0 for n in layer[rank * each : (rank + 1) * each]) * expert for rank in range(ranks)]
        if axis in ("etp", "tp"):
            active = [sum(active) / ranks] * ranks
        one += sum(active) / bandwidth
        divided += max(max(active) / core_bandwidth, sum(active) / bandwidth)
    return one / divided
