"""Reads a trace of moe-sim and says what its lanes have."""

import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
lanes = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
spans = [event for event in events if event["ph"] == "X"]
of = lambda lane: [span for span in spans if lanes[span["tid"]] == lane]
print(next(event["args"]["name"] for event in events if event["name"] == "process_name"))
sums = [span for span in of("link") if span["name"] == "sums back"]
print(f"link: {len(sums)} sends of sums, {sum(span.get('args', {}).get('bytes', 0) for span in sums) / 1e6:.1f} MB")
products = sorted(of("products"), key=lambda span: span["ts"])
apart = all(a["ts"] + a["dur"] <= b["ts"] + 1e-6 for a, b in zip(products, products[1:]))
steps, slices = (sum(span["name"].startswith(kind) for span in products) for kind in ("up, step", "down, slice"))
print(f"products: {steps} steps of up, {slices} slices of down, {'no two' if apart else 'several'} at a time")
