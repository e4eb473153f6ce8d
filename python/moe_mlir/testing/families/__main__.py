"""Runs every family in a process of its own, and writes docs/Families.md; or drawn configurations of them (scripts/families)."""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..paths import ROOT
from . import moe_families, worker
from .drawing.command import numbers, run
from .page import page, state, total
from .process import process_row


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="scripts/families",
        description="Makes a tiny random model of every MoE family that transformers knows, exports it with its caches, compiles it, "
        "runs it and compares it with PyTorch. Writes docs/Families.md, unless only some families are asked for.",
        epilog="example: scripts/families --only mixtral,gpt_oss")
    parser.add_argument("--only", metavar="NAME[,NAME...]", help="these families, and write no page without -o")
    parser.add_argument("--drawn", metavar="NUMBERS", type=numbers,
                        help="instead, configurations drawn at random: their numbers, as 3,9,20-29, or all (0-199); the code is 1 if one differs from PyTorch")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N", help="families at a time (default: one per core)")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="time of a family (default: 300)")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: docs/Families.md); with --only the rows of these families")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error("-j needs at least 1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"{__package__}.worker"])
    if options.drawn is not None:
        if options.only or options.output:
            parser.error("--drawn excludes --only and -o")
        with tempfile.TemporaryDirectory(prefix="moe-families-") as folder:
            return int(run(context, options.drawn, options.jobs, options.timeout, Path(folder)) > 0)
    known = moe_families()
    chosen = options.only.split(",") if options.only else known
    for name in chosen:
        if name not in known:
            parser.error(f"there is no family '{name}'; known are: {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="moe-families-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        rows = [pool.submit(_row, context, name, Path(folder), options.timeout) for name in chosen]
        rows = [row.result() for row in rows]
    output = options.output or (None if options.only else ROOT / "docs" / "Families.md")
    if output:
        output = Path(output)
        output.write_text(page(rows, output.read_text() if options.only and output.is_file() else ""))
    print(total([state(row) for row in rows]), flush=True)
    return 0


def _row(context, family, folder, timeout):
    start = time.monotonic()
    own = folder / family
    own.mkdir()
    row = process_row(context, family, worker.work, (family, str(own)), timeout)
    counts = " ".join(f"{found}/{row['expected'][kind]}" for kind, found in row["layers"].items())
    print(f"{family:20} {time.monotonic() - start:5.1f} s  {state(row):22} {counts:20} {'; '.join(row['missing'])}", flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
