"""The stamps that instrumented products write (instrument.py), and what they say. Nothing but NumPy is needed.

A record is eight numbers: 1 + the multiprocessor (0: not written); rows left in the expert; then cycles of the multiprocessor and nanoseconds at
the tile's first full stage, after its last product, and when the thread has stored its results.
"""

import numpy as np

FIELDS = 8
FIRST, PRODUCTS, END = 2, 4, 6
FEW_ROWS = 16


def tiles_of(stamps):
    """Per block, the records that were written, in their order: [tiles, 8]. `stamps`: [blocks, records, 8]."""
    return [block[: int((block[:, 0] != 0).sum())] for block in stamps]


def problems(blocks, capacity):
    """What cannot be: a list of sentences."""
    found = []
    for number, tiles in enumerate(blocks):
        if len(tiles) == capacity:
            found.append(f"block {number} has more tiles than records")
        if len(set(tiles[:, 0])) > 1:
            found.append(f"block {number} was on several multiprocessors")
        for clock in (0, 1):
            times = tiles[:, [FIRST + clock, PRODUCTS + clock, END + clock]].ravel()
            if (np.diff(times) < 0).any():
                found.append(f"block {number}: time runs backwards")
    return found


def distribution(values):
    if not len(values):
        return None
    low, middle, high = np.percentile(values, [0, 50, 99])
    return {"min": float(low), "median": float(middle), "p99": float(high), "mean": float(np.mean(values)), "count": len(values)}


def phases(blocks):
    """Cycles of a tile's phases, of tiles with few rows and with many apart. `waiting`: from the end of the tile before to the first full stage."""
    result = {}
    for name, few in (("many rows", False), ("few rows", True)):
        chosen = {"waiting": [], "products": [], "epilogue": []}
        for tiles in blocks:
            mask = (tiles[:, 1] <= FEW_ROWS) == few
            chosen["waiting"].append((tiles[1:, FIRST] - tiles[:-1, END])[mask[1:]])
            chosen["products"].append((tiles[:, PRODUCTS] - tiles[:, FIRST])[mask])
            chosen["epilogue"].append((tiles[:, END] - tiles[:, PRODUCTS])[mask])
        result[name] = {phase: distribution(np.concatenate(values)) for phase, values in chosen.items()}
    return result


def summary(stamps):
    """What one launch says: phases in cycles, the rest in nanoseconds."""
    blocks = tiles_of(stamps.astype(np.int64))
    counts = [len(tiles) for tiles in blocks]
    busy = [tiles for tiles in blocks if len(tiles)]
    if not busy:
        return {"tiles": 0, "problems": ["no tile was stamped"]}
    ends = np.array([tiles[-1, END + 1] for tiles in busy])
    firsts = np.array([tiles[0, FIRST + 1] for tiles in busy])
    length = int(ends.max() - firsts.min())
    cycles = sum(int(tiles[-1, END] - tiles[0, FIRST]) for tiles in busy)
    nanoseconds = sum(int(tiles[-1, END + 1] - tiles[0, FIRST + 1]) for tiles in busy)
    idle = (ends.max() - ends).sum() + (len(blocks) - len(busy)) * length
    return {
        "tiles": sum(counts), "tiles of blocks": distribution(counts), "blocks without tiles": len(blocks) - len(busy),
        "multiprocessors": len({int(tiles[0, 0]) for tiles in busy}), "phases": phases(busy), "length": length,
        "first stages": distribution(firsts - firsts.min()), "idle at the end": distribution(ends.max() - ends),
        "idle share": float(idle / max(len(blocks) * length, 1)), "hertz": cycles / max(nanoseconds, 1) * 1e9,
        "problems": problems(blocks, stamps.shape[1]),
    }  # fmt: skip
