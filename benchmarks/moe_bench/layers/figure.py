"""The figure of docs/performance/layers.md: time against tokens, a panel per layer and element type, with the floor drawn in."""

import math
from html import escape

from .rows import DTYPES, ROUTINGS, SHAPES

WIDTH, HEIGHT = 300, 230
LEFT, TOP, RIGHT, BOTTOM = 52, 30, 10, 34
LEGEND = 46
LETTER = 6.2  # average width
OURS, FLOOR = "compiled", "floor"
COLORS = {
    OURS: "#c1121f", FLOOR: "#495057", "torch-eager": "#f4a261", "torch-grouped": "#e9c46a", "torch-compile": "#8d6e63", "onednn": "#2a9d8f",
    "ggml": "#277da1", "onnxruntime": "#577590", "openvino": "#7b2cbf",
}  # fmt: skip


def lines_of(summaries, shape, dtype, routing):
    """{name: [(tokens, seconds)]} of a panel: the floor, the compiled layer, every peer."""
    lines = {}
    for tokens in shape.tokens:
        s = summaries.get(f"{shape.name}/{dtype}/T{tokens}/{routing}")
        if s is None:
            continue
        times = {FLOOR: s["floor_seconds"], **{v: p["seconds"] for v, p in s["peers"].items()}, OURS: s["seconds"]}
        for name, seconds in times.items():
            lines.setdefault(name, []).append((tokens, seconds))
    return lines


def panel(title, lines):
    """SVG of one panel, with its upper left corner at 0, 0."""
    points = [p for line in lines.values() for p in line]
    tokens = sorted({t for t, _ in points})
    low, high = (f(math.log10(s) for _, s in points) for f in (min, max))
    low, high = math.floor(low * 2) / 2, math.ceil(high * 2) / 2
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(t):
        share = math.log2(t / tokens[0]) / math.log2(tokens[-1] / tokens[0]) if len(tokens) > 1 else 0.5
        return LEFT + across * share

    def y(seconds):
        return TOP + down * (high - math.log10(seconds)) / (high - low)

    parts = [f'<text x="{LEFT}" y="{TOP - 10}" class="title">{escape(title)}</text>']
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = y(10.0**power)
        label = f"{10**power:g} s" if power >= 0 else f"{10 ** (power + 3):g} ms"
        parts.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    for t in tokens:
        parts.append(f'<text x="{x(t):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{t}</text>')
    for name, line in lines.items():
        path = " ".join(f"{x(t):.1f},{y(s):.1f}" for t, s in line)
        style = 'stroke-dasharray="5 3" stroke-width="1.6"' if name == FLOOR else f'stroke-width="{2.4 if name == OURS else 1.2}"'
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[name]}" {style}/>')
        if name != FLOOR:
            parts += [f'<circle cx="{x(t):.1f}" cy="{y(s):.1f}" r="{2.6 if name == OURS else 1.8}" fill="{COLORS[name]}"/>' for t, s in line]
    return "\n".join(parts)


def draw(rows, routing=ROUTINGS[0]):
    """SVG text of summaries as in a result file."""
    summaries = {s["row"]: s for s in rows}
    panels = [(f"{s.name}, {d}", lines_of(summaries, s, d, routing)) for d in DTYPES for s in SHAPES]
    panels = [(title, lines) for title, lines in panels if lines]
    names = [n for n in COLORS if any(n in lines for _, lines in panels)]
    columns = min(len(SHAPES), len(panels))
    width, height = columns * WIDTH, -(-len(panels) // columns) * HEIGHT + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        "<style>text{fill:#343a40}.title{font-weight:bold;font-size:12px}.grid{stroke:#dee2e6}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for index, (title, lines) in enumerate(panels):
        parts.append(f'<g transform="translate({index % columns * WIDTH} {index // columns * HEIGHT})">\n{panel(title, lines)}\n</g>')
    at = LEFT
    for name in names:
        dashes = ' stroke-dasharray="5 3"' if name == FLOOR else ""
        parts.append(f'<line x1="{at:.0f}" y1="{height - 30}" x2="{at + 18:.0f}" y2="{height - 30}" stroke="{COLORS[name]}" stroke-width="2.4"{dashes}/>')
        parts.append(f'<text x="{at + 22:.0f}" y="{height - 26}">{name}</text>')
        at += 34 + LETTER * len(name)
    parts.append(f'<text x="{LEFT}" y="{height - 8}">seconds of one call against tokens, {routing} routing; a peer without a point cannot run the row</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
