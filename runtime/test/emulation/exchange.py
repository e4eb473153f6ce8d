"""Virtual ranks in one launch: what each must have received, and what a silent one leaves behind."""

import ctypes
from dataclasses import dataclass

import numpy as np

ROWS_PER_TILE, THREADS, SHARED = 16, 128, 16
POINTERS = ("rows", "windows", "counters", "want", "sums", "status", "abort")
SIZES = ("ranks", "per_rank", "count", "vectors", "silent")


class Exchange(ctypes.Structure):
    """The parameter of exchangeRows."""

    _fields_ = (
        [(name, ctypes.c_void_p) for name in POINTERS]
        + [("nanoseconds", ctypes.c_uint64)]
        + [(name, ctypes.c_int) for name in SIZES]
    )


@dataclass
class RanksCase:
    """`count` rows of 16 * `vectors` bytes per rank; `silent` sends nothing in the last epoch, -1 for none."""

    ranks: int
    per_rank: int  # blocks; one of them sends
    count: int
    vectors: int
    epochs: int = 3
    silent: int = -1
    nanoseconds: int = 10**9
    first: int = 2**32 - 24  # of the counters, so that they wrap around

    def arrays(self):
        random = np.random.default_rng(self.ranks * 1000 + self.count)
        tiles = self.count // ROWS_PER_TILE
        shape = (self.ranks, self.count, 4 * self.vectors)
        return {
            "rows": random.integers(0, 2**32, shape, dtype=np.uint32),
            "windows": np.zeros(shape, np.uint32),
            "counters": np.full((self.ranks, tiles), self.first, np.uint32),
            "want": np.zeros(1, np.uint32),
            "sums": np.zeros((self.ranks, tiles), np.uint32),
            "status": np.zeros(self.ranks, np.uint32),
            "abort": np.zeros(1, np.uint32),
        }

    def received(self, rows):
        """The window of each rank."""
        share = self.count // self.ranks
        windows = np.zeros_like(rows)
        for rank in range(self.ranks):
            for i in range(self.count):
                windows[i % self.ranks, rank * share + i // self.ranks] = rows[rank, i]
        return windows

    def run(self, device):
        """`device`: write(name, array), read(name), launch(case, silent). Returns what is wrong, or ""."""
        arrays = self.arrays()
        for name, array in arrays.items():
            device.write(name, array)
        tiles = self.received(arrays["rows"]).reshape(self.ranks, -1, ROWS_PER_TILE * 4 * self.vectors)
        expected = tiles.sum(axis=-1, dtype=np.uint32)
        for epoch in range(1, self.epochs + 1):
            silent = self.silent if epoch == self.epochs else -1
            want = (self.first + epoch * ROWS_PER_TILE) % 2**32
            device.write("want", np.array([want], np.uint32))
            device.write("sums", np.zeros_like(expected))
            device.launch(self, silent)
            status, sums = device.read("status"), device.read("sums")
            if silent < 0 and (status.any() or not np.array_equal(sums, expected)):
                return f"epoch {epoch}: status {status.tolist()}, {(sums != expected).sum()} of {sums.size} tiles wrong"
        return self.end(status, sums, expected) if self.silent >= 0 else ""

    def end(self, status, sums, expected):
        """After a silent rank: each rank names a tile of it, and the tiles of the others came."""
        share = self.count // self.ranks
        late = range(self.silent * share // ROWS_PER_TILE, -(-(self.silent + 1) * share // ROWS_PER_TILE))
        if not all(int(word) - 1 in late for word in status):
            return f"a silent rank left the status words {status.tolist()}"
        others = [tile for tile in range(expected.shape[1]) if tile not in late]
        return "" if np.array_equal(sums[:, others], expected[:, others]) else "tiles of the other ranks are wrong"
