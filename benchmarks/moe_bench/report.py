"""Raw samples as JSON lines, and the tables for people."""

import json
import os
from pathlib import Path


class Results:
    """Writes records as they come, so that an interrupted run keeps what it measured."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "x")

    def record(self, record):
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def close(self):
        """Keeps the file if there is a measurement in it."""
        self._file.close()
        with open(self.path) as file:
            measured = any(json.loads(line)["type"] != "environment" for line in file)
        if not measured:
            os.unlink(self.path)
        return measured


def time_text(seconds):
    """Three digits with a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def row_line(s):
    """Summary of one row in a line."""
    mark = "" if s["ratio"] >= 1 else "  BELOW 1.0"
    disturbed = f"  ({s['disturbed']} rounds disturbed)" if s["disturbed"] else ""
    return (
        f"{s['row']:<34} {s['ratio']:7.2f}  {s['low']:5.2f}..{s['high']:<6.2f} {time_text(s['seconds']):>9} {s['tokens_per_second']:>10.1f} "
        f"{time_text(s['peer_seconds']):>9} {s['peer']:<15} {s['floor']:5.2f} {s['peer_floor']:6.2f} {s['bandwidth'] / 1e9:7.1f} "
        f"{s['logits_difference']:8.1e}{mark}{disturbed}"
    )


ROW_HEADER = (
    f"{'row':<34} {'ratio':>7}  {'rounds':<13} {'compiled':>9} {'tokens/s':>10} {'peer':>9} {'best peer':<15} {'floor':>5} {'(peer)':>6} {'GB/s':>7} {'logits':>8}"
)


def compile_table(results):
    """Compile times and memory."""
    lines = [f"{'compile':<18} {'total s':>8} {'weights s':>10} {'rest s':>8} {'private MiB':>12}"]
    for r in results:
        rest = r["seconds"] - r["weights_seconds"]
        name = f"{r['model']} {r['dtype']}"
        lines.append(f"{name:<18} {r['seconds']:8.2f} {r['weights_seconds']:10.2f} {rest:8.2f} {r['private_bytes'] / 2**20:12.1f}")
    return "\n".join(lines)


def process_table(executables, peers):
    """Start and memory of the executables, and of PyTorch's process with the same model."""
    lines = [f"{'process':<18} {'start s':>8} {'cold s':>7} {'(read)':>7} {'files MiB':>10} {'resident MiB':>13} {'own MiB':>8} {'PyTorch: load s':>16} {'resident MiB':>13}"]
    for r in executables:
        peer = peers.get((r["model"], r["dtype"]))
        theirs = f"{peer['load_seconds']:16.2f} {peer['resident'] / 2**20:13.1f}" if peer else ""
        name = f"{r['model']} {r['dtype']}"
        lines.append(
            f"{name:<18} {r['start_seconds']:8.3f} {r['cold_seconds']:7.2f} {r['read_seconds']:7.2f} {r['bytes'] / 2**20:10.1f} "
            f"{r['resident'] / 2**20:13.1f} {r['anonymous'] / 2**20:8.1f} {theirs}"
        )
    return "\n".join(lines)
