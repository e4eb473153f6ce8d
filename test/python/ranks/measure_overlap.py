"""Times a layer of two ranks whose link has a given rate and latency: the plain exchange, and one under the products in one step and in two.
Prints a line for each number of tokens and link; docs/rationale/overlap.md has results.

    PYTHONPATH=python build/venv/bin/python test/python/ranks/measure_overlap.py --tokens 1 64 512 --link 20e6:50000 --folder /tmp/overlap
"""

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

import numpy as np

from edited import text_at
from overlap import Schedule, overlapped

from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.paced import pace
from moe_mlir.testing.paths import ROOT

EXPERTS, K, HIDDEN, INNER = 64, 8, 2048, 1024  # OLMoE's
LAYER = """
func.func @main(%x: tensor<?x{h}xbf16> {{moe.dims = ["tokens", ""], moe.name = "x"}}, %ids: tensor<?x{k}xi32> {{moe.dims = ["tokens", ""], moe.name = "ids"}},
                %w: tensor<?x{k}xbf16> {{moe.dims = ["tokens", ""], moe.name = "weights"}}) -> (tensor<?x{h}xbf16> {{moe.dims = ["tokens", ""], moe.name = "y"}}) {{
  %up = moe.parameter ["up"] : tensor<{e}x{i2}x{h}xbf16>
  %down = moe.parameter ["down"] : tensor<{e}x{h}x{i}xbf16>
  %rows, %layout = moe.dispatch %x, %ids num_experts({e}) : tensor<?x{h}xbf16>, tensor<?x{k}xi32> -> tensor<?x{h}xbf16>, !moe.layout<{e}>
  %r = moe.expert %rows, %layout, %up, %down gated {{
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  }} : tensor<?x{h}xbf16>, !moe.layout<{e}>, tensor<{e}x{i2}x{h}xbf16>, tensor<{e}x{h}x{i}xbf16> -> tensor<?x{h}xbf16>
  %y = moe.combine %r, %layout weights(%w : tensor<?x{k}xbf16>) : tensor<?x{h}xbf16>, !moe.layout<{e}> -> tensor<?x{h}xbf16>
  return %y : tensor<?x{h}xbf16>
}}
"""
BUILD = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))


def link_paced(text, folder):
    """A program at level runtime with the library of paced links."""
    (folder / "paced.mlir").write_text(pace(text))
    subprocess.run([compiler(), folder / "paced.mlir", "--from=runtime", "-q", "--emit=obj", "-o", folder / "model.o"], check=True)
    objects = [BUILD / "lib/moe-mlir/moert_launcher.o", folder / "model.o", BUILD / "runtime/test/comm/libmoert_paced.a"]
    libraries = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"]
    command = ["ld.lld-22", "-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", "--eh-frame-hdr", "-o", folder / "model"]
    subprocess.run([*command, *objects, *libraries], check=True)
    return folder / "model"


def programs(folder, chunk, slices):
    """{name: path} of the layer with each schedule."""
    source = folder / "layer.mlir"
    source.write_text(LAYER.format(e=EXPERTS, k=K, h=HIDDEN, i=INNER, i2=2 * INNER))
    what = source, "ep=2"
    flags = "--from=graph", "--weights=none"
    texts = {"plain": text_at("kernel", *what, *flags)}
    for name, steps in (("[2]", (2,)), ("[1,1]", (1, 1))):
        texts[name] = overlapped(*what, Schedule(steps=steps, chunk=chunk, slices=slices), *flags)
    made = {}
    for name, text in texts.items():
        place = folder / name
        place.mkdir(exist_ok=True)
        (place / "kernel.mlir").write_text(text)
        command = [compiler(), place / "kernel.mlir", "--from=kernel", "--to=runtime", "-o", "-", "-q"]
        runtime = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        made[name] = link_paced(runtime, place)
    return made


def write_calls(folder, tokens, count):
    """`tokens` tokens of each rank, over all experts alike."""
    random = np.random.default_rng(tokens)
    rows = 2 * tokens
    arrays = {"x": random.standard_normal((rows, HIDDEN)).astype(np.float32), "weights": random.random((rows, K)).astype(np.float32),
              "ids": np.stack([random.permutation(EXPERTS)[:K] for _ in range(rows)]).astype(np.int32)}  # fmt: skip
    words = []
    for name, array in arrays.items():
        path = folder / f"{name}{tokens}.npy"
        np.save(path, array)
        words += ["--input", f"{name}=@{path}"]
    calls = folder / f"calls{tokens}"
    calls.write_text((" ".join(words) + "\n") * count)
    return calls


def times_of(program, calls, link, threads, folder):
    """Milliseconds of each call on the slower rank."""
    trace = folder / "trace.json"
    command = [program, "--ranks", "2", "--threads", str(threads), "--random-weights", "1", "--calls", calls, "--trace", trace]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "MOE_PACED": link})
    ranks = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("cat") == "call":
            ranks.setdefault(event["pid"], []).append(event["dur"] / 1000)
    return [max(pair) for pair in zip(*ranks.values())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 64, 512])
    parser.add_argument("--link", nargs="+", default=["1e12:0", "40e6:50000", "10e6:50000"], help="BYTES_PER_SECOND:NANOSECONDS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=0, help="of a round; default: by the number of tokens")
    parser.add_argument("--threads", type=int, default=1, help="of a rank")
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--slices", type=int, default=8)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    made = programs(options.folder, options.chunk, options.slices)
    print(f"{'tokens':>6} {'link':>12} " + " ".join(f"{name:>18}" for name in made), "  ms per call: median (least)")
    for tokens in options.tokens:
        calls = write_calls(options.folder, tokens, (options.calls or (40 if tokens < 16 else 12 if tokens < 128 else 4)) + 1)
        for link in options.link:
            samples = {name: [] for name in made}
            for _ in range(options.rounds):
                for name, program in made.items():
                    samples[name] += times_of(program, calls, link, options.threads, options.folder)[1:]
            shown = " ".join(f"{statistics.median(s):>9.2f} ({min(s):>6.2f})" for s in samples.values())
            print(f"{tokens:>6} {link:>12} {shown}", flush=True)


if __name__ == "__main__":
    main()
