"""Lines of layers and decode steps of several ranks."""

from ..report import time_text
from . import rows

HEADER = f"{'row':<34} {'one process':>12} {'ranks':>9} {'ratio':>6} {'(rounds)':>12} {'bound':>6} {'goal':>5}"


def goal(s):
    """Least ratio of one process's time to that of the ranks."""
    return rows.OF_BOUND * s["bound"] if "bound" in s else 1 / rows.OF_ONE_PROCESS


def line(s):
    bound = f"{s['bound']:6.2f}" if "bound" in s else f"{'':6}"
    disturbed = f"  ({s['disturbed']} rounds disturbed)" if s["disturbed"] else ""
    times = f"{time_text(s['seconds']['one']):>12} {time_text(s['seconds']['ranks']):>9}"
    return f"{s['row']:<34} {times} {s['ratio']:6.2f} {s['low']:5.2f}..{s['high']:<5.2f} {bound} {goal(s):5.2f}{disturbed}"


def missed(summaries):
    """Lines of what misses its goal."""
    return [f"{s['row']}: {s['ratio']:.2f} times the speed of one process, goal {goal(s):.2f}" for s in summaries if s["ratio"] < goal(s)]
