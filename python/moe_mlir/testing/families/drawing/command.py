"""Runs drawn configurations, each in a process of its own (scripts/families --drawn)."""

import argparse
import collections
import shutil
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from ..page import state
from ..process import process_row
from . import COUNT, draw


def numbers(text):
    """Numbers in the order in which they stand in "3,9,20-29"; "all" are those of a full run."""
    if text == "all":
        return list(range(COUNT))
    try:
        ranges = [part.split("-") for part in text.split(",")]
        chosen = list(dict.fromkeys(number for first, *last in ranges for number in range(int(first), int(*last or (first,)) + 1)))
        if not chosen:
            raise ValueError("none of them")
        return chosen
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError(f"expected numbers such as 3,9,20-29, or all; got '{text}'") from None


def run(context, chosen, jobs, timeout, folder):
    """Prints a line for each, when it is done, and the total; returns how many differ from PyTorch."""
    from .. import worker

    def one(number):
        start, own = time.monotonic(), folder / str(number)
        own.mkdir()
        row = process_row(context, str(number), worker.work_drawn, (number, str(own)), timeout)
        shutil.rmtree(own, ignore_errors=True)  # a compiler that outlived its time may still write there
        return number, row, time.monotonic() - start

    states, bad = collections.Counter(), []
    with ThreadPoolExecutor(jobs) as pool:
        for done, task in enumerate(as_completed([pool.submit(one, number) for number in chosen]), 1):
            number, row, seconds = task.result()
            states[state(row)] += 1
            print(f"[{done}/{len(chosen)}] {number:3} {row['family']:18} {seconds:5.1f} s  {state(row):22} {'; '.join(row['missing'])}", flush=True)
            for reason in row.get("refused", ()):
                print(f"      drawn again, PyTorch refuses {' '.join(reason.split())[:200]}", flush=True)
            if not row["equal"]:
                bad.append(number)
                print(f"      {row.get('drawn') or draw(number)}", flush=True)
    told = f"; not equal: {','.join(map(str, sorted(bad)))}" if bad else ""
    print(f"{len(chosen)} drawn configurations: {len(chosen) - len(bad)} equal PyTorch, {states['equal, raised']} of them without plain layers{told}", flush=True)
    return len(bad)
