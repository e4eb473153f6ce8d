"""A process with a rank of several jobs of two ranks, one after the other: LIBRARY RANK OUT x.npy ids.npy weights.npy

Says "ready", and then reads a line "PORT TOKEN" for each job and prints one: "fine", or why it failed. OUT.npy is the result of the last one.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from moe_bench.errors import BenchError  # noqa: E402
from moe_bench.session import F32, I32, Session  # noqa: E402


def run(library, rank, arrays, job):
    """The result of a call, as an array."""
    port, token = job.split()
    session = Session(library, 1, random_weights=1, deadline_ms=1000, rank=rank, ranks=2, root=f"127.0.0.1:{port}".encode(), token=token.encode())
    try:
        session.caller([(session.find("input", name), I32 if a.dtype == np.int32 else F32, a.shape, a.ctypes.data) for name, a in arrays.items()])()
        _, count, address = session.output(session.find("output", "y"))
        return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32).copy()
    finally:
        session.close()


def main():
    library, rank, out, *paths = sys.argv[1:]
    arrays = {name: np.load(path) for name, path in zip(("x", "ids", "weights"), paths, strict=True)}
    print("ready", flush=True)
    for job in sys.stdin:
        try:
            np.save(f"{out}.npy", run(library, int(rank), arrays, job))
            print("fine", flush=True)
        except BenchError as error:
            print(error, flush=True)


if __name__ == "__main__":
    main()
