"""Tables of two compilers, and what misses a goal."""

from ..report import time_text
from .measuring import geometric_mean


def progress_line(s):
    return f"{s['row']}: {s['ratio']:.3f} ({s['low']:.3f}..{s['high']:.3f}){'' if s.get('same', True) else ', results differ'}"


def table(summaries):
    """One line per row: both times and their ratio, above 1 where the new one is faster."""
    lines = [f"{'row':<30} {'old':>8} {'new':>8} {'old/new':>8} {'(rounds)':>16} {'rounds':>6}"]
    for s in summaries:
        line = f"{s['row']:<30} {time_text(s['seconds']['old']):>8} {time_text(s['seconds']['new']):>8} {s['ratio']:8.3f} {interval(s):>16} {s['rounds']:6}"
        line += f" {s['wall']['ratio']:8.3f} {interval(s['wall']):>16}" if "wall" in s else ""
        line += f"  (at first {s['first_ratio']:.3f})" if "first_ratio" in s else ""
        line += "" if s.get("same", True) else "  results differ"
        lines.append(line + (f"  ({s['disturbed']} rounds disturbed)" if s.get("disturbed") else ""))
    if "wall" in summaries[0]:
        lines[0] = lines[0].replace("row", "CPU time of compiling", 1).replace(" " * 18, "", 1) + f" {'on clock':>8} {'(rounds)':>16}"
    return "\n".join([*lines, f"geometric mean of {len(summaries)}: {geometric_mean(summaries):.3f}"])


def interval(s):
    return f"{s['low']:.3f}..{s['high']:.3f}"


def missed(summaries, goal, may_differ, mean_goal=0):
    """Lines of what is below the goal, or wrong. `mean_goal` is that of the geometric mean."""
    lines = [f"{s['row']}: results differ" for s in summaries if not may_differ and not s.get("same", True)]
    lines += [f"{s['row']}: {s['ratio']:.3f} times as fast as the old one, goal {goal:.3g}" for s in summaries if s["ratio"] < goal]
    mean = geometric_mean(summaries)
    return lines + ([f"geometric mean of {len(summaries)}: {mean:.3f}, goal {mean_goal:.3g}"] if mean < mean_goal else [])
