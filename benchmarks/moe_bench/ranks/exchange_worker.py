"""One rank of the benchmark of exchanges: `mpirun -n 2 python -m moe_bench.ranks.exchange_worker PLAN`, in which all sides take turns.

PLAN is a JSON file; rank 0 writes a line per turn to the file that it names. A turn begins with a barrier, and has as many calls as rank 0 says.
"""

import ctypes
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from ..errors import BenchError
from ..layers.compiled_worker import aligned
from ..session import BF16, I32, Session
from .exchange_program import durations
from .rows import ExchangeRow

LEAST_CALLS, MOST_CALLS = 2, 300
MPI, MPI_KNOWN, GLOO, OURS = "openmpi", "openmpi, counts known", "gloo", "compiled"
SIDES = (OURS, MPI, MPI_KNOWN, GLOO)


class Input(ctypes.Structure):
    """Of native/ranks/exchange.cpp; so are those below."""

    _fields_ = [("index", ctypes.c_int32), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("unused", ctypes.c_int32), ("sizes", ctypes.c_int64 * 2),
                ("data", ctypes.c_void_p)]  # fmt: skip


class Mpi(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("alltoall", "alltoallv", "bytes", "ints", "world")] + [("ranks", ctypes.c_int32), ("known", ctypes.c_int32)]


class Rows(ctypes.Structure):
    _fields_ = [("packed", ctypes.c_void_p), ("received", ctypes.c_void_p), ("source", ctypes.c_void_p), ("order", ctypes.c_void_p), ("rows", ctypes.c_int64),
                ("row_bytes", ctypes.c_int64), ("counts", ctypes.c_void_p), ("to_come", ctypes.c_void_p)]  # fmt: skip


class Came(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("nanoseconds", ctypes.c_void_p)]


def windows_of_this_process():
    """The memory of all windows, as arrays of bytes."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "moe-window" in line:
            begin, end = (int(address, 16) for address in line.split(maxsplit=1)[0].split("-"))
            yield np.frombuffer((ctypes.c_uint8 * (end - begin)).from_address(begin), np.uint8)


def address_in_windows(rows):
    """Where these rows stand one after the other."""
    for memory in windows_of_this_process() if len(rows) else ():
        at = memory.tobytes().find(rows[0].tobytes())
        if at >= 0 and np.array_equal(memory[at : at + rows.nbytes], rows.reshape(-1)):
            return memory.ctypes.data + at
    if len(rows):
        raise BenchError("the rows that came are in no window", 3)
    return rows.ctypes.data


def pointer(function):
    return ctypes.cast(function, ctypes.c_void_p)


def timed(count, address, size, call):
    """Seconds of so many calls, and of reading the `size` bytes that each left at the address: `call` is given memory for both."""
    times, reading = (ctypes.c_int64 * count)(), (ctypes.c_int64 * count)()
    call(times, ctypes.byref(Came(address, size, ctypes.addressof(reading))))
    return [t * 1e-9 for t in times], [t * 1e-9 for t in reading]


class Case:
    """The rows of this rank, and what it must receive from each rank, in their order."""

    def __init__(self, row, rank, ranks):
        given = [self._of(row, other) for other in range(ranks)]
        self.row, self.x, self.ids = row, *map(aligned, given[rank])
        self.order = np.argsort(self.ids, kind="stable").astype(np.int32)
        self.counts = np.bincount(self.ids, minlength=ranks).astype(np.int32)
        parts = [x[ids == rank] for x, ids in given]
        self.to_come = np.array([len(part) for part in parts], np.int32)
        self.expected = parts
        self.others = parts[(rank + 1) % ranks]  # rows of the other rank, of two
        self.others_place = int(self.to_come[: (rank + 1) % ranks].sum())
        self.packed, self.received = np.empty_like(self.x), np.empty((int(self.to_come.sum()), row.row_bytes), np.uint8)

    @staticmethod
    def _of(row, rank):
        random = np.random.default_rng(rank + 1)
        return random.integers(0, 256, (row.tokens, row.row_bytes), np.uint8), row.destinations(random)


class Rank:
    """All sides of one rank."""

    def __init__(self, plan):
        self._plan = plan
        self._native = ctypes.CDLL(plan["native"])
        self._mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
        self._mpi.MPI_Init(None, None)
        self.rank, self.ranks = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("RANK", "SIZE"))
        if plan["apart"]:
            os.environ["MOE_HOST_NAME"] = str(self.rank)
        os.sched_setaffinity(0, [plan["cores"][self.rank]])
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{plan['port']}", rank=self.rank, world_size=self.ranks)
        symbols = ("ompi_mpi_byte", "ompi_mpi_int", "ompi_mpi_comm_world")
        self._handles = [ctypes.addressof(ctypes.c_char.in_dll(self._mpi, name)) for name in symbols]
        self._file = open(plan["samples"], "w") if self.rank == 0 else None

    def measure(self, row):
        case = Case(row, self.rank, self.ranks)
        with_all = Session(self._plan["libraries"][f"{row.row_bytes}-all"], 1)
        self._check_session(with_all, case)
        with_all.close()
        session = Session(self._plan["libraries"][f"{row.row_bytes}-first"], 1, trace=1)
        calls = {OURS: self._session_calls(session, case), MPI: self._mpi_calls(case, 0), MPI_KNOWN: self._mpi_calls(case, 1), GLOO: self._gloo_calls(case)}
        for side in (MPI, MPI_KNOWN, GLOO):
            self._check(side, case, calls[side])
        count = {side: self._count(calls[side]) for side in SIDES}
        turns = []
        for index in range(self._plan["rounds"]):
            for side in SIDES if index % 2 == 0 else SIDES[::-1]:
                self._mpi.MPI_Barrier(ctypes.c_void_p(self._handles[2]))
                turns.append((index, side, [self._together(times) for times in calls[side](count[side])]))
        self._record(row, turns, self._exchanges(session))
        session.close()

    def _count(self, call):
        """How many calls a turn has; the trial also warms up."""
        begin = time.perf_counter()
        call(LEAST_CALLS)
        each = (time.perf_counter() - begin) / LEAST_CALLS
        count = torch.tensor([max(LEAST_CALLS, min(MOST_CALLS, int(self._plan["turn_seconds"] / each)))])
        dist.broadcast(count, 0)
        return int(count)

    def _together(self, seconds):
        """Of each call, the time of the slower rank."""
        slowest = torch.tensor(seconds, dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return slowest.tolist()

    def _exchanges(self, session):
        """Of each of our calls, the exchange alone, of the slower rank."""
        with tempfile.TemporaryDirectory() as folder:
            session.write_trace(Path(folder) / "trace.json")
            if self.rank:
                return None
            found = durations(json.loads((Path(folder) / "trace.json").read_text()))
        return [max(times) for times in zip(*found.values())]

    def _record(self, row, turns, exchanges):
        if self.rank:
            return
        ours = sum(len(seconds) for _, side, (seconds, _) in turns if side == OURS)
        exchanges = exchanges[len(exchanges) - ours :]  # without the trial
        for index, side, (seconds, reading) in turns:
            sample = {"row": row.name, "round": index, "side": side, "seconds": seconds, "reading_seconds": reading}
            if side == OURS:
                sample["exchange_seconds"], exchanges = exchanges[: len(seconds)], exchanges[len(seconds) :]
            self._file.write(json.dumps(sample) + "\n")
        self._file.flush()

    def _session_calls(self, session, case):
        inputs = (Input * 2)()
        for given, name, dtype, array, columns in zip(inputs, ("x", "ids"), (BF16, I32), (case.x, case.ids), (case.row.row_bytes // 2, 1)):
            given.index, given.dtype, given.rank, given.data = session.find("input", name), dtype, 2, array.ctypes.data
            given.sizes[:] = [len(array), columns]
        functions = [pointer(getattr(session.api, f"moert_session_{name}")) for name in ("set_input", "run")]

        nothing = ctypes.c_int64()
        if self._native.exchange_session(*functions, session.handle, inputs, 2, 1, ctypes.byref(nothing), ctypes.byref(Came(None, 0, ctypes.addressof(nothing)))):
            raise BenchError(session.api.moert_session_error(session.handle).decode(), 70)
        address = address_in_windows(case.others)

        def run(count):
            def call(times, came):
                if self._native.exchange_session(*functions, session.handle, inputs, 2, count, times, came):
                    raise BenchError(session.api.moert_session_error(session.handle).decode(), 70)

            return timed(count, address, case.others.nbytes, call)

        return run

    def _check_session(self, session, case):
        self._session_calls(session, case)
        _, count, address = session.output(session.find("output", "y"))
        received = np.frombuffer((ctypes.c_uint8 * (2 * count)).from_address(address), np.uint8).reshape(-1, case.row.row_bytes)
        room = len(received) // self.ranks  # of each source; the own rows are first
        parts = [received[distance * room :] for distance in range(self.ranks)]
        for source, expected in enumerate(case.expected):
            if not np.array_equal(parts[(self.rank - source) % self.ranks][: len(expected)], expected):
                raise BenchError(f"{case.row.name}: the compiled program's rows from rank {source} are wrong on rank {self.rank}", 3)

    def _mpi_calls(self, case, known):
        byte, integer, world = self._handles
        mpi = Mpi(pointer(self._mpi.MPI_Alltoall), pointer(self._mpi.MPI_Alltoallv), byte, integer, world, self.ranks, known)
        data = [a.ctypes.data for a in (case.packed, case.received, case.x, case.order)]
        rows = Rows(*data, len(case.x), case.row.row_bytes, case.counts.ctypes.data, case.to_come.ctypes.data)

        def run(count):
            def call(times, came):
                if self._native.exchange_mpi(ctypes.byref(mpi), ctypes.byref(rows), count, times, came):
                    raise BenchError("Open MPI's exchange failed", 70)

            return timed(count, self._others_address(case), case.others.nbytes, call)

        return run

    def _gloo_calls(self, case):
        packed, received = torch.from_numpy(case.packed), torch.from_numpy(case.received)
        counts, come = torch.from_numpy(case.counts), torch.empty(self.ranks, dtype=torch.int32)
        data = [ctypes.c_void_p(a.ctypes.data) for a in (case.packed, case.x, case.order)]
        sizes = [ctypes.c_int64(n) for n in (len(case.x), case.row.row_bytes)]

        def run(count):
            def call(times, came):
                for i in range(count):
                    begin = time.perf_counter_ns()
                    self._native.exchange_pack(*data, *sizes)
                    dist.all_to_all_single(come, counts)
                    dist.all_to_all_single(received, packed, come.tolist(), counts.tolist())
                    times[i] = time.perf_counter_ns() - begin
                    self._native.exchange_read(came, i)

            return timed(count, self._others_address(case), case.others.nbytes, call)

        return run

    @staticmethod
    def _others_address(case):
        return case.received.ctypes.data + case.others_place * case.row.row_bytes

    def _check(self, side, case, call):
        case.received[...] = 0
        call(1)
        if not np.array_equal(case.received, np.concatenate(case.expected)):
            raise BenchError(f"{case.row.name}: {side}'s rows are wrong on rank {self.rank}", 3)


def main(path):
    plan = json.loads(Path(path).read_text())
    rank = Rank(plan)
    for row in plan["rows"]:
        rank.measure(ExchangeRow(*row))
    dist.destroy_process_group()
    rank._mpi.MPI_Finalize()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(error.exit_code)
