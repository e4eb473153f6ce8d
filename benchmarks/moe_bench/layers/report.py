"""Tables of the layer benchmark, and what the parent reads of NumPy's files."""

import ast
import json
import struct
from pathlib import Path

from ..errors import BenchError
from ..report import time_text


def active_experts(path):
    """Number of different values of each input of an int32 `.npy` file [inputs, ...] of version 1, the mean of all."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<H", data, 8)
    inputs = ast.literal_eval(data[10 : 10 + length].decode())["shape"][0]
    values = struct.unpack(f"<{(len(data) - 10 - length) // 4}i", data[10 + length :])
    each = len(values) // inputs
    return sum(len(set(values[i * each : (i + 1) * each])) for i in range(inputs)) / inputs


def read_rows(paths):
    """Summaries of result files, in their order; of a row in several files, the last one's."""
    rows = {}
    for path in paths:
        with open(path) as file:
            for line in file:
                record = json.loads(line)
                if record["type"] == "row":
                    if "peers" not in record:
                        raise BenchError(f"'{path}' has rows of models, not of layers")
                    rows[record["row"]] = record
    return list(rows.values())


def progress_line(s):
    best = f", {s['ratio']:.2f} ({s['low']:.2f}..{s['high']:.2f}) times {s['peer']}" if s["peer"] else ""
    return f"{s['row']}: {time_text(s['seconds'])}, {s['floor']:.2f} of the floor{best}"


def table(summaries):
    """One line per row: our time and share of the floor, the ratio to the best peer, and each peer's time over ours ("*": from its trial alone)."""
    names = list(dict.fromkeys(v for s in summaries for v in s["peers"]))
    head = f"{'row':<30} {'time':>8} {'floor':>5} {'(rounds)':>11} {'ratio':>6} {'(rounds)':>12} {'best peer':<14} {'GB/s':>5} {'GFLOP/s':>7}"
    lines = [head + "".join(f" {name:>14}" for name in names)]
    for s in summaries:
        ratio = f"{s['ratio']:6.2f} {s['low']:5.2f}..{s['high']:<5.2f} {s['peer']:<14}" if s["peer"] else f"{'':34}"
        line = f"{s['row']:<30} {time_text(s['seconds']):>8} {s['floor']:5.2f} {s['floor_low']:5.2f}..{s['floor_high']:4.2f} {ratio}"
        line += f" {s['bandwidth'] / 1e9:5.0f} {s['peak'] / 1e9:7.0f}"
        for name in names:
            peer = s["peers"].get(name)
            text = "" if peer is None else f"{peer['ratio']:.2f}" if "ratio" in peer else f"{peer['seconds'] / s['seconds']:.1f}*"
            line += f" {text:>14}"
        lines.append(line + (f"  ({s['disturbed']} rounds disturbed)" if s["disturbed"] else ""))
    return "\n".join(lines)


def markdown(summaries):
    """The same as a table of docs/performance/layers.md; peers that were left out after their trial are in brackets."""
    names = list(dict.fromkeys(v for s in summaries for v in s["peers"]))
    head = ["row", "compiled", "of the floor", "ratio to the best peer", "best peer", "its share", *names]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for s in summaries:
        cells = [s["row"], time_text(s["seconds"]), f"{s['floor']:.2f} ({s['floor_low']:.2f}..{s['floor_high']:.2f})"]
        if s["peer"]:
            cells += [f"{s['ratio']:.2f} ({s['low']:.2f}..{s['high']:.2f})", s["peer"], f"{s['peers'][s['peer']]['floor']:.2f}"]
        else:
            cells += [""] * 3
        cells += [_cell(s, s["peers"].get(name)) for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(s, peer):
    if peer is None:
        return ""
    return f"{peer['ratio']:.2f}" if "ratio" in peer else f"({peer['seconds'] / s['seconds']:.1f})"
