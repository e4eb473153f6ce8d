"""Faults planted in the emitted kernels of exchanges under products, one at a time: each wait left out, moved or on something else, each signal
and arrival before its stores. No verifier has seen them; the emulation names the rule that is broken. All stand in one text, and a number that the
kernels read chooses one. A rank that waits in vain goes on with what is there: its status word, or a load that nothing orders, tells of it."""

import ctypes
import re
from dataclasses import dataclass

import numpy as np
import pytest
from rank_layers import RankedLayer, bits, on_cpu
from rank_overlap import Overlap, joined, overlapped_level
from rank_program import PATIENCE, RankedProgram, part_of
from test_emitted_ranks import INTERLEAVINGS, whole

from moe_mlir.testing.full import FULL


class IdlePeers(RankedLayer):
    """No token goes to another rank than its own, of two."""

    def inputs(self):
        inputs, own = super().inputs(), self.E // 2
        for rank in range(2):
            ids = inputs["ids"][part_of(self.tokens, rank, 2)]
            ids[...] = np.where(ids < 0, ids, rank * own + (ids[:, :1] + np.arange(self.k)) % own)
        return inputs


LAYER = RankedLayer(10, 128, 32, 8, 2, "bf16", layers=2)
IDLE = IdlePeers(10, 128, 32, 8, 2, "bf16", layers=2)
SCHEDULE = Overlap(chunk=2, slices=2)
UP, DOWN = "send_chunks_with_", "experts_down_"
NONE = 0
ENDLESS = 2**60


@dataclass(frozen=True)
class Fault:
    name: str
    found: str  # pattern of what the emulation says
    layers: int = 1  # that run
    dropped: tuple = ()  # (launch, which of them)
    resident: int = 132  # blocks
    endless: bool = False  # no deadline ends a wait
    layer: RankedLayer = LAYER
    quick: bool = False  # in each run of the tests


def race(what, writer, peer=r"\d"):
    """Whoever comes first, at its line: a load of what `writer` of a rank stores at any time, or a store onto what somebody still reads."""
    load = rf"(?:load|asynchronous copy) of {what} of rank (\d) at byte \d+ is not ordered after the store of rank {peer}"
    return rf"^kernel\.cu:\d+: {load} {writer}\w* block \d+ thread \d+ \[rank \1 |" + race_of_store(what, writer)


def race_of_store(what, writer):
    return rf"^kernel\.cu:\d+: store of {what} of rank (\d) at byte \d+ is not ordered after a load of it \[rank \d {writer}"


def deadlock(kernel, wait):
    """Threads of a rank that wait at a line."""
    return rf"^deadlock:(?:.|\n)*\n +rank (\d) {kernel}\w* block \d+, warps \d+ to \d+: \d+ threads at kernel\.cu:\d+ wait for {wait}"


OTHER = r"(?!\1)\d"
LATE, LATE_SUMS = race("rows", "send_chunks"), race("sums", "experts_down", OTHER)
LATE_TILES = r"^kernel\.cu:\d+: load of buffer \d+ of rank (\d) at byte \d+ is not ordered after the store of rank \1 experts_down_\w+ block \d+ thread \d+ \[rank \1 experts_down_"
NO_ROWS = deadlock("send_chunks_with", rf"flag \d+ of chunks came of rank \1 from rank {OTHER} \(now \d+, awaited \d+\)")
NO_ROWS_AT_ALL = NO_ROWS.replace(OTHER, r"\d")
NO_SUMS = deadlock("await_sums", r"flag \d+ of sums came of rank \1 from rank \d \(now \d+, awaited \d+\)")
NO_TILES = deadlock("experts_down", r"(?:back-off|a flag \(acquire load, now \d+\))")
FAULTS = [
    # Rows to experts.
    Fault("rows are not waited for", LATE, quick=True),
    Fault("rows are waited for behind their loads", LATE),
    Fault("rows are waited for at another flag", LATE),
    Fault("rows are waited for in the exchange before", LATE),
    Fault("loading threads do not meet behind the wait", LATE, quick=True),
    Fault("rows are not signalled", NO_ROWS, endless=True, quick=True),
    Fault("rows are signalled before they are put", LATE),
    Fault("lanes do not meet before the signal of rows", LATE),
    Fault("rows are signalled in the exchange before", NO_ROWS, endless=True),
    # Columns to sums.
    Fault("a slice is not waited for", LATE_TILES, quick=True),
    Fault("a slice is waited for behind its loads", LATE_TILES),
    Fault("another slice is waited for", LATE_TILES),
    Fault("one arrival too few is waited for", LATE_TILES),
    Fault("tiles do not arrive", NO_TILES, endless=True),
    Fault("tiles arrive before their stores", LATE_TILES),
    Fault("multiplying warps do not meet before a tile arrives", LATE_TILES),
    Fault("tiles arrive without release", LATE_TILES),
    Fault("counters are not set to zero", NO_TILES, endless=True),
    # Sums to tokens.
    Fault("sums are not signalled", NO_SUMS, endless=True),
    Fault("sums are signalled before they are put", LATE_SUMS, quick=True),
    Fault("sums are not signalled where there are none", NO_SUMS, endless=True),
    Fault("sums are not waited for", LATE_SUMS),
    Fault("sums are waited for at another flag", LATE_SUMS),
    Fault("sums are waited for in the exchange before", LATE_SUMS),
    Fault("a launch that waits for sums is missing", LATE_SUMS, dropped=(("await_sums", 0),)),
    Fault("the next layer uses a window without waiting", race_of_store(r"companion\d", "send_rows"), layers=2, dropped=(("await_sums", 0), ("combine_", 0)), quick=True),
    Fault("idle peers are not waited for", race("announcements", "announce_rows", OTHER), layers=2, layer=IDLE, quick=True),
    Fault("the next exchange is not counted", race(r"(?:rows|companion\d|sums)", r"(?:send|experts)"), layers=2, dropped=(("next_exchange", 1),)),
    # Blocks.
    Fault("who waits stands before who sends, and there is no room for both", NO_ROWS_AT_ALL, resident=2, endless=True, quick=True),
    Fault("who waits for tiles stands before who computes them, and there is no room for both", NO_TILES, resident=1, endless=True),
]  # fmt: skip
NUMBERS = {fault.name: number for number, fault in enumerate(FAULTS, 1)}


class Planting:
    """A text in which faults are chosen by number."""

    def __init__(self, text):
        head, *kernels = text.split('\nextern "C" ')
        self.head = head + '\nextern "C" __attribute__((visibility("default"))) int planted;\nint planted = 0;\n'
        self.kernels = [kernel.split("\n") for kernel in kernels]

    def text(self):
        return '\nextern "C" '.join([self.head, *("\n".join(lines) for lines in self.kernels)])

    def kernel(self, name):
        (lines,) = [lines for lines in self.kernels if f" {name}" in lines[0]]
        return lines


def find(lines, word, number=0):
    return [i for i, line in enumerate(lines) if word in line][number]


def indent(line):
    return len(line) - len(line.lstrip())


def parent(lines, at):
    """The line that opens the block around a line."""
    return next(i for i in range(at - 1, -1, -1) if lines[i].rstrip().endswith("{") and indent(lines[i]) < indent(lines[at]))


def end(lines, at):
    """The line behind the block that a line opens."""
    return next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "}" and indent(lines[i]) == indent(lines[at])) + 1


def unless(*names):
    return "if (" + " && ".join(f"planted != {NUMBERS[name]}" for name in names) + ") "


def when(name):
    return f"planted == {NUMBERS[name]}"


def move(lines, first, last, to, name, *others):
    """With the fault, lines [first, last) run in front of line `to` instead. With others, nowhere."""
    block, space = lines[first:last], " " * indent(lines[first])
    copy = [f"{space}if ({when(name)}) {{", *block, space + "}"]
    lines[first:last] = [f"{space}{unless(name, *others)}{{", *block, space + "}"]
    at = to + 2 if to > first else to
    lines[at:at] = copy


def guard(lines, at, *names):
    lines[at] = " " * indent(lines[at]) + unless(*names) + lines[at].strip()


def arguments(lines, at, change):
    """The arguments of the call in a line."""
    head, rest = lines[at].split("(", 1)
    lines[at] = head + "(" + ", ".join(change(rest.rstrip(");").split(", "))) + ");"


def plant_signal(lines, number, missing, early, meeting=None, more=lambda lines, at: None):
    """In the send of a member: its signal, the meeting in front of it, and the loop that puts."""
    put = parent(lines, find(lines, "moe::putRow", number))
    signal = find(lines, "moe::signalRank", number)
    more(lines, signal)
    branch = parent(lines, signal)
    place = next(i for i in range(branch, 0, -1) if lines[i].strip().startswith("int64_t"))  # of the flag
    lines.insert(put, lines.pop(place))
    if meeting:
        guard(lines, branch - 1, meeting)
    move(lines, branch, end(lines, branch), put + 1, early, missing)


def plant_up(lines):
    def other_epoch(lines, at):
        arguments(lines, at, lambda a: [*a[:4], f"{a[4]} - ({when('rows are signalled in the exchange before')})"])

    wait = find(lines, "moe::awaitRank")
    arguments(lines, wait, lambda a: [
        *a[:2], f"{when('rows are waited for at another flag')} ? 0 : {a[2]}", f"{a[3]} - ({when('rows are waited for in the exchange before')})", a[4],
    ])  # fmt: skip
    guard(lines, wait, "rows are not waited for")
    guard(lines, find(lines, "moe::syncNamed(1, 128)"), "loading threads do not meet behind the wait")
    whole_wait = parent(lines, parent(lines, find(lines, "moe::awaitRank")))
    tiles = end(lines, whole_wait)
    move(lines, whole_wait, tiles, end(lines, tiles), "rows are waited for behind their loads")
    plant_signal(lines, 0, "rows are not signalled", "rows are signalled before they are put", "lanes do not meet before the signal of rows", other_epoch)
    turn(lines, "who waits stands before who sends, and there is no room for both")


def plant_down(lines):
    def where_there_are_none(lines, at):
        loop = lines[parent(lines, find(lines, "moe::putRow"))]
        first, limit = re.search(r"= (\w+); \w+ < (.*); \w+ \+= 1", loop).groups()
        lines[at] = " " * indent(lines[at]) + f"if (!({when('sums are not signalled where there are none')}) || {first} < {limit}) " + lines[at].strip()

    wait = find(lines, "moe::awaitArrivals")
    arguments(lines, wait, lambda a: [a[0], f"{a[1]} - ({when('one arrival too few is waited for')})", a[2]])
    guard(lines, wait, "a slice is not waited for")
    lines[wait - 1] = re.sub(r" \+ (\w+);", rf" + ({when('another slice is waited for')} ? 0 : \1);", lines[wait - 1])
    branch = parent(lines, wait)
    plant_signal(lines, 0, "sums are not signalled", "sums are signalled before they are put", more=where_there_are_none)
    move(lines, branch, end(lines, branch), end(lines, parent(lines, find(lines, "moe::putRow"))), "a slice is waited for behind its loads")

    arrival = find(lines, "moe::countArrival")
    counter, part, parts = re.search(r"\((.*), (.*), (.*)\);", lines[arrival]).groups()
    relaxed = f"moe::addGlobal((uint32_t *) {counter}, uint32_t(({part} + 1) * moe::kArrival / {parts} - {part} * moe::kArrival / {parts}))"
    lines[arrival] = " " * indent(lines[arrival]) + f"if ({when('tiles arrive without release')}) {relaxed}; else {unless('tiles do not arrive')}{lines[arrival].strip()}"
    meeting, branch = find(lines, "moe::syncNamed(2, 256)"), parent(lines, arrival)
    guard(lines, meeting, "multiplying warps do not meet before a tile arrives")
    tile = parent(lines, branch)
    move(lines, meeting, end(lines, branch), tile + 2, "tiles arrive before their stores")
    turn(lines, "who waits for tiles stands before who computes them, and there is no room for both")


def turn(lines, name):
    """The last blocks of the launch become the first."""
    at = find(lines, "= moe::blockIndex()")
    lines[at] = lines[at].replace("moe::blockIndex()", f"({when(name)} ? moe::blockCount() - 1 - moe::blockIndex() : moe::blockIndex())")


def with_faults(text):
    planting = Planting(text)
    plant_up(planting.kernel(UP))
    plant_down(planting.kernel(DOWN))
    sums = planting.kernel("await_sums")
    wait = find(sums, "moe::awaitRank")
    arguments(sums, wait, lambda a: [
        *a[:2], f"{when('sums are waited for at another flag')} ? 0 : {a[2]}", f"{a[3]} - ({when('sums are waited for in the exchange before')})", a[4],
    ])  # fmt: skip
    peers, *_, peer = re.search(r"awaitRank\((.*)\);", sums[wait])[1].split(", ")
    guard(sums, wait, "sums are not waited for")
    sums[wait] = " " * indent(sums[wait]) + f"if (!({when('idle peers are not waited for')}) || moe::isOwnRank({peers}, {peer})) " + sums[wait].strip()
    records = planting.kernel("order_records_")
    (zero,) = [i for i, line in enumerate(records) if "moe::storeGlobal" in line and line.endswith(", 0);")]
    guard(records, zero, "counters are not set to zero")
    return planting.text()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return RankedProgram(joined(overlapped_level(LAYER.graph(), 2, SCHEDULE)), 2, tmp_path_factory.mktemp("kernels"), with_faults)


def run_edited(program, number, edit, layers, layer=LAYER, **schedule):
    """A run of the first layers; `edit` changes the launches of a rank."""
    ctypes.c_int.in_dll(program.library, "planted").value = number

    def first(launches):
        ends = [i for i, launch in enumerate(launches) if launch[0].startswith("combine_128_bf16_top2")]
        return edit(launches[: ends[layers - 1] + 1])

    return program.run(bits(layer.inputs()), bits(layer.weights()), True, first, **schedule)


def run(program, number, layers=2, dropped=(), **schedule):
    """What the emulation says, or the status words; and the outputs."""

    def edit(launches):
        places = {[i for i, launch in enumerate(launches) if launch[0].startswith(name)][which] for name, which in dropped}
        return [launch for i, launch in enumerate(launches) if i not in places]

    fault, outputs, status = run_edited(program, number, edit, layers, **schedule)
    return fault or (f"status {status}" if any(status) else ""), outputs


@pytest.mark.parametrize("interleaving", INTERLEAVINGS if FULL else INTERLEAVINGS[2:3], ids=lambda each: f"seed{each['seed']}")
def test_nothing_is_found_without_a_fault(interleaving, program, tmp_path):
    """Also if blocks start one after the other, in their order, and where nothing travels."""
    for layer, resident in ((LAYER, 132), (LAYER, 1), (IDLE, 132)):
        expected = on_cpu(layer, tmp_path / str(layer is IDLE))
        found, outputs = run(program, NONE, layer=layer, resident_blocks=resident, **interleaving)
        assert found == ""
        assert (whole(outputs, True, layer.element).astype("f4") == expected.astype("f4")).all()


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.quick or FULL], ids=lambda fault: fault.name)
def test_a_fault_is_found(fault, program):
    """One of the interleavings finds it; those before it have found it in another way, or nothing."""
    others = []
    for interleaving in INTERLEAVINGS:
        patience = ENDLESS if fault.endless else PATIENCE
        found, _ = run(program, NUMBERS[fault.name], fault.layers, fault.dropped, layer=fault.layer, patience=patience, resident_blocks=fault.resident, **interleaving)
        if re.search(fault.found, found):
            return
        others.append(found)
    raise AssertionError(others)


@pytest.mark.parametrize("last", [None, "next_exchange", "order_records", "send_chunks"] if FULL else ["order_records"])
def test_a_rank_falls_silent(last, program):
    """Behind this launch of the first layer, or at once. The other one gives up, once, says whom it waited for, and comes to its end; no rule is broken."""
    for interleaving in INTERLEAVINGS if FULL else INTERLEAVINGS[:2]:
        ranks = iter(range(2))

        def edit(launches):
            names = [launch[0] for launch in launches]
            count = next(i for i, name in enumerate(names) if name.startswith(last)) + 1 if last else 0
            return launches[:count] if next(ranks) == 1 else launches

        found, status = run_edited(program, NONE, edit, layers=2 if last is None else 1, **interleaving)[::2]
        assert (found, status) == ("", [2, 0])


@pytest.mark.skipif(not FULL, reason="three more runs")
def test_any_number_of_exchanges_before(program, tmp_path):
    """The epoch wraps around, and windows hold what calls before have left."""
    expected = on_cpu(LAYER, tmp_path)
    for epoch in (1, 0x7FFFFFFF, 0xFFFFFFFF):
        found, outputs = run(program, NONE, epoch=epoch)
        assert found == ""
        assert (whole(outputs, True, LAYER.element).astype("f4") == expected.astype("f4")).all()
