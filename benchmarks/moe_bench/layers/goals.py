"""What a row is held to."""

# Rows per expert within this factor of the point where operations and bytes take the same time.
RIDGE = 2.0


def at_ridge(summary):
    """Whether operations and bytes bound the row alike."""
    share = (summary["flops"] / summary["peak"]) / (summary["bytes"] / summary["bandwidth"])
    return 1 / RIDGE <= share <= RIDGE


def goal(row, summary):
    """(share of the floor, ratio to the best peer)."""
    if row.tokens <= 4:
        return 0.95, 1.0
    if row.tokens <= 16:
        return 0.90, 1.2
    if row.tokens < 512:
        return (0.75, 1.15) if at_ridge(summary) else (0.90, 1.3)
    return 0.88, 1.02 if row.shape.name == "mixtral" else 1.15


def missed(row, summary):
    """Lines of what the row misses."""
    floor, ratio = goal(row, summary)
    lines = []
    if summary["floor"] < floor:
        lines.append(f"{row.name}: {summary['floor']:.2f} of the floor, goal {floor:.2f}")
    if summary.get("ratio", ratio) < ratio:
        lines.append(f"{row.name}: {summary['ratio']:.2f} times {summary['peer']}, goal {ratio:.2f}")
    return lines
