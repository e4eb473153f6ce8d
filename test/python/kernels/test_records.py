"""The records of a layer that overlaps: by phase and expert, in whole tiles, each behind the flags of its rows.

`order_records` is run by itself on drawn routings. NumPy finds the same records in another way: every tile of an expert belongs to
the phase of its last row.
"""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from compiled import BIN, Program
from moe_mlir.testing.full import FULL

TILE = 6  # rows; of x86-64-v3
EXPERTS = 8  # of all ranks
SOURCE = Path(__file__).resolve().parents[2] / "Tools" / "moe-sim" / "program.mlir"
ROUTINGS = 500 if FULL else 50

# name: ranks, schedule, and what it says
CASES = {
    "two steps": (2, "<overlap, chunk = 5, steps = [1, 1], slices = 1>", {"chunk": 5, "steps": [1, 1]}),
    "pieces": (4, "<overlap, chunk = 8, steps = [1, 2, 1], piece = 15, slices = 1>", {"chunk": 8, "steps": [1, 2, 1], "piece": 12}),
    "a tile each": (4, "<overlap, chunk = 300, steps = [1, 3], piece = 1, slices = 1>", {"chunk": 300, "steps": [1, 3], "piece": 6}),
    "by part": (2, "<overlap, chunk = 7, order = part, steps = [1, 2, 1], piece = 18, slices = 1>", {"chunk": 7, "steps": [1, 2, 1], "piece": 18, "part": True}),
    "degree 4": (4, "<parts = 4>", {"steps": [1, 1, 1, 1], "part": True, "parts": 4}),
}  # fmt: skip


def text_for(ranks, schedule):
    """The text of a layer of eight experts at level kernel."""

    def run(text, *passes):
        return subprocess.run([BIN / "moe-opt", "-", *passes], input=text, check=True, capture_output=True, text=True).stdout

    layer = run(SOURCE.read_text(), f"--moe-graph-to-spmd=parallel=ep={ranks}", "--moe-spmd-to-scheduled=target=cpu:x86-64-v3")
    assert "schedule(<plain>)" in layer
    return run(layer.replace("schedule(<plain>)", f"schedule({schedule})"), "--moe-scheduled-to-kernel")


def size_of(value):
    """The input whose size a number is."""
    return value.replace("%", "%size")


def program_of(text):
    """`order_records` as a program. Its buffers are inputs and results, its numbers are sizes of inputs. Gives the numbers in order, by what they are."""
    kernel = re.search(r"^ *kernel\.func @order_records_\w+\(.*?^  \}$", text, re.DOTALL | re.MULTILINE)[0]
    name, operands, types = re.search(r"kernel\.launch @(order_records_\w+)\((.*?)\) .*\} : (.*)", text).groups()
    operands, types = operands.split(", "), re.findall(r"memref<[^>]*>|index", types)
    scalars = [value for value, kind in zip(operands, types, strict=True) if kind == "index"]
    definitions = [re.search(rf"^ *{re.escape(value)} = (.*)$", text, re.MULTILINE)[1] for value in scalars]
    kinds = [next(kind for kind, op in NUMBERS.items() if re.match(op, definition)) for definition in definitions]
    buffers = [(value, kind) for value, kind in zip(operands, types, strict=True) if kind != "index"]
    results = [value for value, _ in buffers[2:]]  # behind offsets and tokens
    arguments = [f"{value}: {kind}" for value, kind in buffers[:2]] + [f"{size_of(value)}: memref<?xi8>" for value in scalars]
    sizes = "".join(f"  {value} = memref.dim {size_of(value)}, %c0 : memref<?xi8>\n" for value in scalars)
    dynamic = "".join(f"  {value} = memref.alloc({'%most' if '?' in kind else ''}) : {kind}\n" for value, kind in buffers[2:])
    main = f"""
func.func @main({", ".join(arguments)}, %most_size: memref<?xi8>) -> ({", ".join(kind for _, kind in buffers[2:])}) {{
  %c0 = arith.constant 0 : index
  %most = memref.dim %most_size, %c0 : memref<?xi8>
{sizes}{dynamic}  kernel.launch @{name}({", ".join(operands)}) rows(%most) work(%most) : {", ".join(types)}
  return {", ".join(results)} : {", ".join(kind for _, kind in buffers[2:])}
}}"""
    return Program(kernel + main, cpu="x86-64-v3"), kinds


# What defines a number of the kernel in the host program.
NUMBERS = {"chunk": r"arith\.maxui", "chunks": r"arith\.ceildivui %\w+, %\w+ : index", "records": r"arith\.addi", "room": r"kernel\.agree|arith\.muli"}


def sizes_of(says, room):
    """Rows of a chunk, chunks, and the room of a source."""
    wanted = -(-room // says["parts"]) if "parts" in says else says["chunk"]
    chunk = max(max(min(wanted, room), 1) if "part" in says else wanted, -(-room // 256))
    chunks = -(-room // chunk)
    return chunk, chunks, chunks * chunk if "part" in says else room


def draw_places(random, ranks, experts, chunk, room, says, most):
    """By expert, the places of its rows among all that came, ascending; and the source and number of each place."""
    source, index = np.meshgrid(np.arange(ranks), np.arange(room), indexing="ij")
    place = (index // chunk) * ranks * chunk + source * chunk + index % chunk if "part" in says else source * room + index
    came = index < random.integers(0, most + 1, (ranks, 1))
    likely = random.choice([0.0, 0.1, 0.5, 1.0], experts)
    rows = [np.sort(place[came & (random.random(place.shape) < chance)]) for chance in likely]
    back = {int(p): (int(s), int(i)) for p, s, i in zip(place.ravel(), source.ravel(), index.ravel(), strict=True)}
    return rows, back


def expected_records(rows, back, ranks, chunk, chunks, says):
    """[phase][record] of (expert, first row, rows, first flag, flags)."""
    ends = np.cumsum(says["steps"])
    records = [[] for _ in ends]

    def unit(place):
        source, index = back[int(place)]
        return index // chunk if "part" in says else source

    def flag(place):
        source, index = back[int(place)]
        return index // chunk * ranks + source if "part" in says else source * chunks + index // chunk

    first = 0
    for expert, places in enumerate(rows):
        phases = [min(int(np.searchsorted(ends, unit(places[min(start + TILE, len(places)) - 1]), side="right")), len(ends) - 1) for start in range(0, len(places), TILE)]
        for phase in range(len(ends)):
            start, end = (TILE * sum(p < limit for p in phases) for limit in (phase, phase + 1))
            end = min(end, len(places))
            step = says.get("piece", max(len(places), 1))
            for begin in range(start, end, step):
                stop = min(begin + step, end)
                flags = flag(places[begin]), flag(places[stop - 1])
                records[phase].append((expert, first + begin, stop - begin, flags[0], flags[1] - flags[0] + 1))
        first += len(places)
    return records


@pytest.mark.parametrize("name", CASES)
def test_records(name):
    ranks, schedule, says = CASES[name]
    experts = EXPERTS // ranks
    program, kinds = program_of(text_for(ranks, schedule))
    random = np.random.default_rng(len(name))
    for _ in range(ROUTINGS // len(CASES)):
        tokens = int(random.choice([1, 2, 9, 33, 70, 300]))
        chunk, chunks, room = sizes_of(says, tokens)
        rows, back = draw_places(random, ranks, experts, chunk, room, says, tokens)
        offsets = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int32)
        pairs = ranks * room * experts
        places = np.zeros(pairs, np.int32)
        places[: offsets[-1]] = np.concatenate(rows)
        limit = experts + -(-pairs // says["piece"]) if "piece" in says else experts  # records of a phase
        numbers = {"chunk": chunk, "chunks": chunks, "room": room, "records": limit}
        inputs = [offsets, places, *(np.zeros(numbers[kind], np.int8) for kind in kinds), np.zeros(len(says["steps"]) * limit, np.int8)]
        records, counts, done, _ = program.run(inputs, outputs=(np.int32,) * 4, blocks=1 + len(name) % 3, guarded=True)
        expected = expected_records(rows, back, ranks, chunk, chunks, says)
        assert counts.tolist() == [len(phase) for phase in expected] and not done.any()
        found = [records[limit * phase :][: len(e)] for phase, e in enumerate(expected)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, np.array(other, np.int32).reshape(-1, 5))
        # No tile is added, and every row is in one record.
        assert sum(int(np.ceil(f[:, 2] / TILE).sum()) for f in found) == sum(-(-len(r) // TILE) for r in rows)
        if "part" not in says:  # own rows are what the first phase waits for nobody with
            own = [r for f in found for r in f.tolist() if r[3] + r[4] <= chunks]
            assert own == found[0].tolist()
