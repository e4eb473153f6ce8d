"""Times a layer of two ranks with the plain exchange and with exchanges under its products; docs/rationale/overlap.md has results.

    PYTHONPATH=python:benchmarks build/venv/bin/python test/python/ranks/measure_overlap.py --parts balanced,paced --folder build/bench/overlap

balanced  without a link: the schedule that overlaps beside plain, per call of the slower rank, in turns
paced     over a link that costs no processor, at three rates: the sums take half of the second product on it (sums), the rows take half of the first
          product (rows), and between them. The time of the products is that of plain without a link. Hidden of a leg: what of its time on the link a call
          does not take longer than without a link, up to the end of the first product for the rows and behind it for the sums
links     over links of given rates and latencies (--link): milliseconds per call, and below them what moe-sim says of two hosts that are so joined, each
          with half of the machine that --machine describes (a cluster's file; `benchmarks/run auto --machine` writes one)

All runs go to a file of benchmarks/results. --prepare only compiles.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from edited import text_at
from overlap import Schedule, overlapped, scheduled

from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.paced import pace
from moe_mlir.testing.paths import ROOT

EXPERTS, K, HIDDEN, INNER = 64, 8, 2048, 1024  # OLMoE's
LAYER = """
func.func @main(%x: tensor<?x{h}x{t}> {{moe.dims = ["tokens", ""], moe.name = "x"}}, %ids: tensor<?x{k}xi32> {{moe.dims = ["tokens", ""], moe.name = "ids"}},
                %w: tensor<?x{k}x{t}> {{moe.dims = ["tokens", ""], moe.name = "weights"}}) -> (tensor<?x{h}x{t}> {{moe.dims = ["tokens", ""], moe.name = "y"}}) {{
  %up = moe.parameter ["up"] : tensor<{e}x{i2}x{h}x{t}>
  %down = moe.parameter ["down"] : tensor<{e}x{h}x{i}x{t}>
  %rows, %layout = moe.dispatch %x, %ids num_experts({e}) : tensor<?x{h}x{t}>, tensor<?x{k}xi32> -> tensor<?x{h}x{t}>, !moe.layout<{e}>
  %r = moe.expert %rows, %layout, %up, %down gated {{
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  }} : tensor<?x{h}x{t}>, !moe.layout<{e}>, tensor<{e}x{i2}x{h}x{t}>, tensor<{e}x{h}x{i}x{t}> -> tensor<?x{h}x{t}>
  %y = moe.combine %r, %layout weights(%w : tensor<?x{k}x{t}>) : tensor<?x{h}x{t}>, !moe.layout<{e}> -> tensor<?x{h}x{t}>
  return %y : tensor<?x{h}x{t}>
}}
"""
BUILD = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))
LATENCY, NO_LINK, GOAL, SLOWER = 50_000, "1e12:0", 0.8, 1.03
PARTS = ("balanced", "paced", "links")


def link_paced(text, folder):
    """A program at level runtime with the library of paced links."""
    (folder / "paced.mlir").write_text(pace(text))
    subprocess.run([compiler(), folder / "paced.mlir", "--from=runtime", "-q", "--emit=obj", "-o", folder / "model.o"], check=True)
    objects = [BUILD / "lib/moe-mlir/moert_launcher.o", folder / "model.o", BUILD / "runtime/test/comm/libmoert_paced.a"]
    libraries = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"]
    command = ["ld.lld-22", "-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "--eh-frame-hdr", "-o", folder / "model"]
    subprocess.run([*command, *objects, *libraries], check=True)
    return folder / "model"


@dataclass(frozen=True)
class Sizes:
    """Of the layer; `inner`: the hidden width of an expert."""

    hidden: int = HIDDEN
    inner: int = INNER
    experts: int = EXPERTS


def programs(folder, dtype, sizes, schedules, is_paced):
    """{name: path} of the layer, plain and with each schedule."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "layer.mlir"
    source.write_text(LAYER.format(e=sizes.experts, k=K, h=sizes.hidden, i=sizes.inner, i2=2 * sizes.inner, t=dtype))
    what, flags = (source, "ep=2"), ("--from=graph", "--weights=none")
    texts = {"plain": text_at("kernel", *what, *flags), **{name: overlapped(*what, schedule, *flags) for name, schedule in schedules.items()}}
    made = {}
    for name, text in texts.items():
        place = folder / f"{name}{'-paced' if is_paced else ''}"
        place.mkdir(exist_ok=True)
        (place / "kernel.mlir").write_text(text)
        command = [compiler(), place / "kernel.mlir", "--from=kernel", "-q"]
        if is_paced:
            runtime = subprocess.run([*command, "--to=runtime", "-o", "-"], check=True, capture_output=True, text=True).stdout
            made[name] = link_paced(runtime, place)
        else:
            subprocess.run([*command, "--weights=none", "-o", place / "model"], check=True)
            made[name] = place / "model"
    return made


def simulated(folder, dtype, schedules, tokens, link, machine, threads):
    """{name: seconds} that moe-sim says of a call, of the programs that programs() has made in `folder`."""
    described = json.loads(machine.read_text())
    device, [rate, nanoseconds] = described["device"], map(float, link.split(":"))
    bytes_per_second = min(device["coreBytesPerSecond"] * threads, device["memoryBytesPerSecond"] / 2)
    device |= {"cores": threads, "coreBytesPerSecond": bytes_per_second / threads, "memoryBytesPerSecond": bytes_per_second}
    described |= {"ranksPerNode": 1, "network": {"bytesPerSecond": rate, "reachable": rate, "latency": nanoseconds * 1e-9}}
    cluster, what = folder / "hosts.json", (folder / dtype / "layer.mlir", "ep=2")
    cluster.write_text(json.dumps(described))
    texts = {"plain": text_at("scheduled", *what, "--from=graph", "--weights=none")}
    texts |= {name: scheduled(*what, schedule, "--from=graph", "--weights=none") for name, schedule in schedules.items()}
    command, found = [Path(compiler()).with_name("moe-sim"), "-", f"--cluster=2x{cluster}", f"--tokens={2 * tokens}"], {}
    for name, text in texts.items():
        said = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
        found[name] = float(re.search(r"^time +([0-9.]+) us", said, re.MULTILINE)[1]) * 1e-6
    return found


def write_calls(folder, tokens, count, sizes):
    """`tokens` tokens of each rank, over all experts alike."""
    random = np.random.default_rng(tokens)
    rows = 2 * tokens
    arrays = {"x": random.standard_normal((rows, sizes.hidden)).astype(np.float32), "weights": random.random((rows, K)).astype(np.float32),
              "ids": np.stack([random.permutation(sizes.experts)[:K] for _ in range(rows)]).astype(np.int32)}  # fmt: skip
    words = []
    for name, array in arrays.items():
        path = folder / f"{name}{tokens}.npy"
        np.save(path, array)
        words += ["--input", f"{name}=@{path}"]
    calls = folder / f"calls{tokens}-{count}"
    calls.write_text((" ".join(words) + "\n") * count)
    return calls


@dataclass
class Call:
    """Of a call, in seconds of the slower rank; bytes of each leg to the other rank, of the rank that sends more."""

    seconds: float
    front: float  # up to the end of the first product
    up: float
    down: float
    rows: int
    sums: int


def calls_of(program, calls, link, threads, folder):
    """The calls of a run, without the first one."""
    trace = folder / "trace.json"
    command = [program, "--ranks", "2", "--threads", str(threads), "--random-weights", "1", "--calls", calls, "--trace", trace]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "MOE_PACED": link})
    events = json.loads(trace.read_text())["traceEvents"]
    ranks = []
    for pid in (1, 2):
        own = [e for e in events if e["pid"] == pid]
        ranks.append([one_call(call, own) for call in own if call.get("cat") == "call"])
    # Ranks wait for each other, so that the later one is the one that counts.
    return [Call(*(max(getattr(rank, field) for rank in pair) for field in Call.__dataclass_fields__)) for pair in list(zip(*ranks))[1:]]


def one_call(call, events):
    inside = [e for e in events if "ts" in e and call["ts"] <= e["ts"] <= call["ts"] + call["dur"]]
    up, down = ([e for e in inside if e.get("cat") == "launch" and name in e["name"]] for name in ("experts_up", "experts_down"))
    sent = [e["args"] for e in inside if e.get("cat") == "traffic"]
    legs = [sum(sum(args["bytes"]) for args in sent if args["phase"].endswith(phase)) for phase in ("rows to experts", "sums to tokens")]
    front = up[-1]["ts"] + up[-1]["dur"] - call["ts"]
    return Call(call["dur"] / 1e6, front / 1e6, sum(e["dur"] for e in up) / 1e6, sum(e["dur"] for e in down) / 1e6, *legs)


class Measurement:
    """Runs programs in turns, and records each run."""

    def __init__(self, options, record):
        self.options, self.record, self.folder = options, record, options.folder
        self.sizes = Sizes(options.hidden, options.inner, options.experts)
        self.schedules = {"overlap": Schedule(steps=(1, 1), chunk=options.chunk, slices=options.slices)}
        if options.one_step:
            self.schedules["one step"] = Schedule(steps=(2,), chunk=options.chunk, slices=options.slices)

    def programs(self, dtype, is_paced):
        return programs(self.folder / dtype, dtype, self.sizes, self.schedules, is_paced)

    def prepare(self):
        for dtype in self.options.dtypes:
            for is_paced in {part != "balanced" for part in self.options.parts}:
                self.programs(dtype, is_paced)

    def in_turns(self, row, tokens, sides, rounds=None):
        """{side: calls}; sides: {name: (program, link)}. Every other round takes them in the other order."""
        count = (self.options.calls or (40 if tokens < 16 else 12 if tokens < 128 else 3)) + 1
        calls, found = write_calls(self.folder, tokens, count, self.sizes), {name: [] for name in sides}
        for number in range(rounds or self.options.rounds):
            for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
                program, link = sides[name]
                made = calls_of(program, calls, link, self.options.threads, self.folder)
                self.record({"type": "overlap-round", "row": row, "round": number, "side": name if isinstance(name, str) else "/".join(name), "link": link, "calls": [vars(call) for call in made]})
                found[name] += made
        return found

    def balanced(self, dtype):
        made, missed = self.programs(dtype, False), []
        for tokens in self.options.tokens:
            row = f"balanced/{dtype}/{tokens}"
            times = {name: median(calls, "seconds") for name, calls in self.in_turns(row, tokens, {n: (p, NO_LINK) for n, p in made.items()}).items()}
            ratio = times["overlap"] / times["plain"]
            print(f"{row:<26} " + "  ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in times.items()) + f"  ratio {ratio:.3f}, goal {SLOWER}")
            self.record({"type": "overlap-row", "row": row, "seconds": times, "ratio": ratio})
            missed += [f"{row}: {ratio:.3f}"] if ratio > SLOWER else []
        return missed

    def paced(self, dtype):
        made, missed, tokens = self.programs(dtype, True), [], self.options.tokens[0]
        [first] = self.in_turns(f"paced/{dtype}/{tokens}/rates", tokens, {"plain": (made["plain"], NO_LINK)}, rounds=1).values()
        rates = {leg: median(first, leg) / (median(first, product) / 2) for leg, product in (("sums", "down"), ("rows", "up"))}
        rates["between"] = (rates["sums"] * rates["rows"]) ** 0.5
        links = {"none": NO_LINK, **{name: f"{rate:.6g}:{LATENCY}" for name, rate in rates.items()}}
        found = self.in_turns(f"paced/{dtype}/{tokens}", tokens, {(side, name): (p, link) for name, link in links.items() for side, p in made.items()})
        free = {side: {field: median(found[side, "none"], field) for field in Call.__dataclass_fields__} for side in made}
        for name, rate in rates.items():
            row, plain = f"paced/{dtype}/{tokens}/{name}", free["plain"]
            legs = {leg: plain[leg] / rate for leg in ("rows", "sums")}
            of = {"rows": legs["rows"] / plain["up"], "sums": legs["sums"] / plain["down"]}
            summary = {side: self.hidden(found[side, name], free[side], legs) for side in made}
            self.record({"type": "overlap-row", "row": row, "bytes_per_second": rate, "legs": legs, "of_product": of, "free": free, "hidden": summary})
            print(f"{row:<26} {rate / 1e6:7.1f} MB/s  " + "  ".join(f"{leg} {legs[leg] * 1e3:.1f} ms = {of[leg]:.2f} of its product" for leg in legs))
            for side, each in summary.items():
                text = "  ".join(f"{leg} {each[leg]:4.0%}" for leg in ("rows", "sums", "both"))
                print(f"    {side:<10} {each['seconds'] * 1e3:8.1f} ms, {free[side]['seconds'] * 1e3:8.1f} without a link; hidden: {text}", flush=True)
            # The leg that the rate is made for, and both where the other one is less than half of its product, too.
            counted = {"sums": "both", "rows": "rows"}.get(name)
            if counted and summary["overlap"][counted] < GOAL:
                missed.append(f"{row}: {counted} {summary['overlap'][counted]:.0%} hidden, goal {GOAL:.0%}")
        return missed

    @staticmethod
    def hidden(calls, free, legs):
        seconds, front = median(calls, "seconds"), median(calls, "front")
        longer = {"rows": front - free["front"], "sums": seconds - front - (free["seconds"] - free["front"])}
        parts = {leg: 1 - longer[leg] / legs[leg] for leg in legs}
        return {"seconds": seconds, **parts, "both": 1 - (seconds - free["seconds"]) / sum(legs.values())}

    def links(self, dtype):
        made = self.programs(dtype, True)
        print(f"{'tokens':>6} {'link':>12} " + " ".join(f"{name:>18}" for name in made), "  ms per call: median (least)")
        for tokens in self.options.tokens:
            for link in self.options.link:
                found = self.in_turns(f"links/{dtype}/{tokens}/{link}", tokens, {name: (program, link) for name, program in made.items()})
                times = [sorted(call.seconds * 1e3 for call in calls) for calls in found.values()]
                print(f"{tokens:>6} {link:>12} " + " ".join(f"{statistics.median(s):>9.2f} ({s[0]:>6.2f})" for s in times), flush=True)
                said = simulated(self.folder, dtype, self.schedules, tokens, link, self.options.machine, self.options.threads)
                print(f"{'simulated':>19} " + " ".join(f"{seconds * 1e3:>9.2f} {'':>8}" for seconds in said.values()), flush=True)
                self.record({"type": "overlap-simulated", "row": f"links/{dtype}/{tokens}/{link}", "seconds": said})
        return []


def median(calls, field):
    return statistics.median(getattr(call, field) for call in calls)


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--parts", type=lambda text: text.split(","), default=["paced"], help=f"of: {', '.join(PARTS)} (default: paced)")
    p.add_argument("--dtypes", type=lambda text: text.split(","), default=["bf16", "f32"], help="default: bf16,f32")
    p.add_argument("--tokens", type=int, nargs="+", default=[512], help="of each rank; paced takes the first number")
    p.add_argument("--link", nargs="+", default=[NO_LINK, "40e6:50000", "10e6:50000"], help="BYTES_PER_SECOND:NANOSECONDS, for links")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--calls", type=int, default=0, help="of a side in a round; default: by the number of tokens")
    p.add_argument("--threads", type=int, default=1, help="of a rank")
    p.add_argument("--chunk", type=int, default=64)
    p.add_argument("--slices", type=int, default=8)
    p.add_argument("--one-step", action="store_true", help="also a schedule with one step")
    p.add_argument("--hidden", type=int, default=HIDDEN)
    p.add_argument("--inner", type=int, default=INNER)
    p.add_argument("--experts", type=int, default=EXPERTS)
    p.add_argument("--machine", type=Path, default=ROOT / "data" / "clusters" / "cpu.json", help="what links are simulated for (default: cpu.json)")
    p.add_argument("--prepare", action="store_true", help="compile and stop")
    p.add_argument("--name", default="overlap", help="last part of the result file's name")
    p.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="folder of result files")
    p.add_argument("--folder", type=Path, required=True)
    return p


def main():
    options = parser().parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        sys.exit(f"error: --parts: '{unknown[0]}' is not known; choose from: {', '.join(PARTS)}")
    from moe_bench import commandline  # of benchmarks/

    options.folder.mkdir(parents=True, exist_ok=True)
    if options.prepare:
        return Measurement(options, None).prepare()
    cores = sorted(os.sched_getaffinity(0))[: 2 * options.threads]
    with commandline.results_file(options, ["overlap", *commandline.recorded(parser(), options)], commandline.clock(), cores) as results:
        measurement = Measurement(options, results.record)
        missed = [line for part in options.parts for dtype in options.dtypes for line in getattr(measurement, part)(dtype)]
    print("\n".join(f"missed: {line}" for line in missed) if missed else "every goal is reached")
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
