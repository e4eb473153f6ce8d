"""Tables of a run's results, one per step that has any, as lines of Markdown."""

from statistics import median

from .stepping import read_lines

OURS = "moe-mlir"
PEERS = ("torch _grouped_mm", "Triton grouped", "cuBLAS dense")


def microseconds(seconds):
    return f"{seconds * 1e6:.3g}" if seconds < 1e-5 else f"{seconds * 1e6:.0f}" if seconds < 1e-2 else f"{seconds * 1e3:.1f} ms"


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def table(head, rows):
    """Nothing without rows."""
    return ["", "| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(map(str, row)) + " |" for row in rows)] if rows else []


def of_type(folder, step, kind):
    return [line for line in read_lines(folder / f"{step}.jsonl") if line["type"] == kind]


def numerics(folder):
    rows = []
    faults = of_type(folder, "numerics", "sporadic fault")
    for line in of_type(folder, "numerics", "all elements"):
        where = [fault for fault in faults if (fault["model"], fault["tokens"]) == (line["model"], line["tokens"])]
        runs = "; ".join(f"{len(fault['runs'])} of {fault['of']} differ from {fault['kernel']} on" for fault in where)
        steady = [x["runs"] for x in of_type(folder, "numerics", "steady") if (x["model"], x["tokens"]) == (line["model"], line["tokens"])]
        wrong = f"{line['wrong']} of {line['elements']}"
        rows.append((line["model"], line["tokens"], wrong, number(line["worst"]), number(line["rms"]), runs or (f"{steady[0]} equal" if steady else "")))
    text = table(("model", "tokens", "wrong elements", "worst / bound", "rms / 2^-9", "runs"), rows)
    return text and ["", "All elements of a layer's result against float64 (bound: 2^-7 of the sum of absolute terms), and repeated calls bit by bit.", *text]


def launches(folder):
    rows = []
    for line in of_type(folder, "launches", "launch"):
        cost = line["cost"] or {"terms": {}}
        term = max(cost["terms"], key=cost["terms"].get, default="")
        estimate = microseconds(cost["estimate"]) if "estimate" in cost else ""
        rate = f"{cost['flops'] / line['median'] / 1e12:.0f}" if cost.get("flops") else ""
        moved = f"{cost['bytes'] / line['median'] / 1e9:.0f}" if cost.get("bytes") else ""
        took, ratio = microseconds(line["median"]), number(line["of the estimate"])
        rows.append((line["model"], line["tokens"], f"`{line['kernel']}`", took, rate, moved, estimate, ratio, term))
    text = table(("model", "tokens", "launch", "us", "TFLOP/s", "GB/s", "estimate us", "ratio", "largest term"), rows)
    return text and ["", "Launches alone, beside what the compiler's cost model says of them.", *text]


def ablations(folder):
    lines = of_type(folder, "ablations", "ablation")
    rows = [(line["model"], line["tokens"], f"`{line['kernel']}`", f"`{line['variant']}`", number(line["ratio"], 3)) for line in lines]
    text = table(("model", "tokens", "launch", "variant", "variant / base"), rows)
    return text and ["", "One thing changed at a time; what a ratio says stands in [Proofs](../cuda/proofs.md#what-bounds-the-expert-products).", *text]


def layers(folder):
    """A row per model, tokens and routing; the first measurement of a side counts."""
    merged = {}
    for line in of_type(folder, "layers", "row"):
        sides = merged.setdefault((line["model"], line["tokens"], line["routing"]), {})
        sides |= {name: side for name, side in line["sides"].items() if name not in sides}
    rows = []
    for (model, tokens, routing), sides in merged.items():
        ours = sides.get(OURS)
        cells = ["failed", "", "", ""]
        if ours:
            cells = [microseconds(ours["median"]), number(ours["TFLOP/s"], 0), number(ours["GB/s"], 0), number(ours["of the floor"])]
        rows.append((model, tokens, routing, *cells, *(microseconds(sides[name]["median"]) if name in sides else "" for name in PEERS)))
    head = ("model", "tokens", "routing", "moe-mlir", "TFLOP/s", "GB/s", "of the floor", "`_grouped_mm`", "Triton", "cuBLAS")
    text = table(head, rows)
    what = "Medians per forward pass in microseconds where no unit is given; bf16; routing and combine included, except in cuBLAS's column."
    return text and ["", what, *text]


def stamps(folder):
    rows = []
    for line in of_type(folder, "stamps", "stamps"):
        for kind, phases in line.get("phases", {}).items():
            middle = [phases[phase]["median"] if phases[phase] else None for phase in ("waiting", "products", "epilogue")]
            if any(middle):
                cells = [number(value, 0) for value in middle]
                rows.append((line["model"], line["tokens"], f"`{line['kernel']}`", kind, *cells, number(line["idle share"]), number(line["hertz"] / 1e6, 0)))
    text = table(("model", "tokens", "launch", "tiles of", "waiting", "products", "epilogue", "idle share", "MHz"), rows)
    return text and ["", "Median cycles of a tile's phases.", *text]


def micro(folder):
    rows = []
    for line in of_type(folder, "micro", "micro"):
        constant, flight = line["constant"], line.get("bytes on their way")
        what = line["what"] + (f", {flight >> 10} KiB on their way" if flight else "")
        assumed = f"{constant['value']:.4g} {constant['unit']}" if constant and constant["value"] else ""
        rows.append((what, f"{line['measured']:.4g} {line['unit']}", assumed, number(line["ratio"])))
    text = table(("what", "measured", "the cost model's", "ratio"), rows)
    return text and ["", "What the cost model assumes.", *text]


def calls(folder):
    """Executables, which copy inputs and outputs, beside sessions on the GPU's values."""
    measured = {(line["model"], line["tokens"]): line for line in of_type(folder, "sessions", "times")}
    rows = []
    for line in of_type(folder, "executables", "benchmark"):
        times = [sample["call_ns"] for sample in line["samples"] if "call_ns" in sample]
        session = measured.get((line["model"], line["tokens"]))
        own = (microseconds(session["median"]), microseconds(session["replay"])) if session else ("", "")
        rows.append((line["model"], line["tokens"], microseconds(median(times) / 1e9) if times else "", *own))
    text = table(("model", "tokens", "executable, with copies", "session on the GPU's values", "replay of its CUDA graph"), rows)
    said = "Calls of compiled programs in microseconds where no unit is given: tokens in and results out through memory of the host, or both on the GPU."
    return text and ["", said, *text]


def clocks(summary):
    rows = []
    for step in summary["steps"]:
        seen = step.get("clocks") or {}
        if seen.get("sm MHz"):
            reasons = ", ".join(f"{name} {count / seen['samples']:.0%}" for name, count in seen["reasons"].items())
            rows.append((step["step"], *(number(value, 0) for value in seen["sm MHz"]), number(seen["watts"], 0), reasons))
    text = table(("step", "least MHz", "median MHz", "most W", "clocks held back by"), rows)
    return text and ["", "Clocks, ten times a second.", *text]


ALL = (numerics, layers, launches, ablations, stamps, micro, calls)
