"""What a row of a model is held to."""

# (share of the floor, ratio to the best peer) by phase and batch, of the model that has goals of its own.
PREFILL = {"bfloat16": (0.75, 1.6), "float32": (0.75, 1.5)}
DECODE = {1: (0.90, 1.05), 8: (0.80, 1.15)}


def goal(row):
    """(share of the floor, ratio to the best peer); 0 where there is no goal."""
    if row.model != "0.9b":
        return 0.0, 1.0
    return PREFILL[row.dtype] if row.phase == "prefill" else DECODE[row.batch]


def missed(row, summary):
    """Lines of what the row misses."""
    floor, ratio = goal(row)
    lines = []
    if summary["floor"] < floor:
        lines.append(f"{row.name}: {summary['floor']:.2f} of the floor, goal {floor:.2f}")
    if summary["ratio"] < ratio:
        lines.append(f"{row.name}: {summary['ratio']:.2f} times {summary['peer']}, goal {ratio:.2f}")
    return lines
