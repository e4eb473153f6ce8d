"""Drawn layers with drawn schedules: every one of them gives the bits of one rank, and sends what the formula of its bytes says.

Layers of a program use the same windows one after the other, each with a schedule of its own.
"""

import random
import re
from dataclasses import replace

import pytest

from edited import compile_text, text_at
from layer import draw, inputs_of, rows, write_all
from moe_mlir.testing.full import FULL
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of
from overlap import Schedule, schedules_in
from traffic import overlapped_bytes, parts_of, traffic_of

LAYERS, SCHEDULES, RANKS = (60, 4, (2, 4)) if FULL else (8, 2, (2,))
TOGETHER = 10 if FULL else 8  # layers of a program
CALLS = 4  # of each program, with other tokens and routings
BLOCKS = re.compile(r"block_columns = (\d+)")


def drawn(seed):
    """Wide enough for slices every other time."""
    return replace(draw(seed), hidden=random.Random(f"width {seed}").choice([64, 128, 192])) if seed % 2 else draw(seed)


def draw_schedule(name, number, ranks, slices):
    """Tutel's degrees in turn among the overlaps. `slices`: how many there can be."""
    if number % 3 == 0:
        return Schedule(parts=2 ** (number // 3 % 4))
    source = random.Random(name)
    order, steps = source.choice(["source", "source", "part"]), []
    # How many parts there are shows when tokens come: the last step takes what is left, or has nothing.
    while sum(steps) < (ranks if order == "source" else source.randint(1, 6)):
        steps.append(source.randint(1, ranks - sum(steps)) if order == "source" else source.randint(1, 3))
    return Schedule(tuple(steps), source.choice([1, 3, 8, 100]), source.choice(slices), order, source.choice([0, 1, 6, 13]))


def with_schedules(text, layers, name, ranks):
    """The text with a drawn schedule for each layer."""
    parts = text.split("schedule(<plain>)")
    assert len(parts) == len(layers) + 1
    edited, used = parts[0], []
    for number, (layer, part) in enumerate(zip(layers, parts[1:], strict=True)):
        block = int(BLOCKS.findall(part)[1])  # of the second product
        blocks = layer.hidden // block if layer.hidden % block == 0 else 1
        # Two further with each drawing: the two of the short run have all of the degrees.
        schedule = draw_schedule(f"{name} {number}", number + 2 * int(name.split()[0]), ranks, [s for s in range(1, blocks + 1) if blocks % s == 0])
        used.append(schedule)
        edited += f"schedule({schedule})" + part
    # Every other layer gathers its rows, as if it were for matrix registers.
    places = edited.split("placement(in_place)")
    assert len(places) == len(layers) + 1
    edited = "".join(place + f"placement({('in_place', 'apart')[i % 2]})" for i, place in enumerate(places[:-1])) + places[-1]
    return edited, used


def sent(schedules, layers, call, rank, ranks):
    """[launch] (phase, bytes to each rank) of a call, layer after layer."""
    launches = []
    for number, (schedule, layer) in enumerate(zip(schedules, layers, strict=True)):
        suffix = str(number) if number else ""
        launches += overlapped_bytes(schedule, parts_of(call["ids" + suffix], ranks), layer, name="up" + suffix)[rank]
    return launches


@pytest.mark.parametrize("first", range(0, LAYERS, TOGETHER))
def test_any_schedule(first, tmp_path):
    layers = [drawn(seed) for seed in range(first, first + TOGETHER)]
    flags = [*write_all(layers, tmp_path), "--target-cpu=x86-64-v3"]
    calls = []
    for call in range(CALLS):
        tokens = rows(first + call)["tokens"] if call else 33
        calls.append({})
        for number, layer in enumerate(layers):
            inputs = inputs_of(replace(layer, tokens=tokens, routing=rows(call * 100 + number)["routing"]), 4, call * 100 + number)
            calls[-1] |= {name + (str(number) if number else ""): array for name, array in inputs.items()}
    source = tmp_path / "layer.mlir"
    expected = outputs_of(compile_for(source, tmp_path / "one", 1, *flags, groups=4), 1, calls, tmp_path / "expected")
    degrees = set()
    for ranks in RANKS:
        text = text_at("scheduled", source, f"ep={ranks},groups=4", *flags)
        for drawing in range(SCHEDULES):
            folder = tmp_path / f"{ranks}-{drawing}"
            edited, used = with_schedules(text, layers, f"{drawing} {first} {ranks}", ranks)
            degrees |= {schedule.parts for schedule in used}
            done, program = compile_text(edited, "scheduled", folder)
            assert done.returncode == 0, done.stderr
            wanted = [[launch for call in calls for launch in sent(schedules_in(edited), layers, call, rank, ranks)] for rank in range(ranks)]
            # Four ranks have to get on with one thread each under every schedule.
            for threads in [1] if drawing % 2 == 0 else [3] if ranks == 2 else [1, 3]:
                trace = folder / f"{threads}.json"
                assert_same_bits(outputs_of(program, ranks, calls, folder / f"calls-{threads}", "--trace", trace, threads=threads), expected)
                assert traffic_of(trace, ranks) == wanted
    assert {0, 1, 2, 4, 8} <= degrees
