"""Faults planted in the exchanges of several ranks, one at a time: in the kernels' text, in the device library, in the launches, in the
windows. The emulation names the rule that is broken; "wrong result" means that only the numbers tell. A rank that waits in vain goes on with what is
there, so a missing signal is seen as a load that nothing orders."""

import re
import shutil
from dataclasses import dataclass

import numpy as np
import pytest
import rank_ring
from rank_layers import RankedLayer, bits, kernel_level
from rank_program import DEVICE, RankedProgram
from test_emitted_ranks import INTERLEAVINGS, whole

from moe_mlir.testing.full import sample

LAYER = RankedLayer(10, 40, 32, 8, 2, "bf16", layers=2)
AWAIT = re.compile(r"^ *moe::awaitRank\([^\n]*\n", re.M)
SIGNAL = re.compile(r"^ *moe::signalRank\([^\n]*\n", re.M)


def without(pattern, kernel):
    """Takes the first statement like this out of a kernel."""

    def change(text):
        start = text.index(f" {kernel}(")
        changed, count = pattern.subn("", text[start:], count=1)
        assert count
        return text[:start] + changed

    return change


def signal_first(text):
    """Lane 0 of announce_rows signals before it stores what the flag tells of."""
    start = text.index(" announce_rows(")
    (signal,) = SIGNAL.findall(text[start : text.index("\n}", start)])
    body = SIGNAL.sub("", text[start:], count=1)
    return text[:start] + re.sub(r"(if \(v\d+\) \{\n)", lambda match: match[1] + signal, body, count=1)


def dropped(name, number=0):
    """The launches without the one of this name, counted from 0."""

    def edit(launches):
        places = [i for i, launch in enumerate(launches) if launch[0].startswith(name)]
        return [launch for i, launch in enumerate(launches) if i != places[number]]

    return edit


@dataclass
class Fault:
    name: str
    found: str
    text: object = None  # what happens to the kernels' text
    library: tuple = ()  # (file, old, new) of the device library
    launches: object = None
    shrink: tuple = ()
    tokens: str = "split"


def signal_alone(text):
    """The lanes of a warp do not meet before one of them signals."""
    changed, count = re.subn(r"^ *moe::syncWarp\(\);\n(?=[^\n]*\{\n *moe::signalRank)", "", text, flags=re.M)
    assert count
    return changed


# Of rank_ring.
RING_FAULTS = [
    Fault("rows are not waited for", "of rows of rank", without(AWAIT, "take")),
    Fault("lanes do not meet before the signal", "load of rows of rank", signal_alone),
    Fault("no fence before TMA reads what came", "without fence.proxy.async", library=("exchange.cuh", "  fenceProxyAsync();\n", "")),
    Fault("the exchange is not counted", "not ordered", launches=dropped("begin")),
]

FAULTS = [
    Fault("rows are not waited for", "load of announcements", without(AWAIT, "await_rows")),
    Fault("sums are not waited for", "load of sums", without(AWAIT, "await_ranks")),
    Fault("summands are not waited for", "load of summands", without(AWAIT, "await_ranks"), tokens="replicated"),
    Fault("rows are not signalled", "not ordered", without(SIGNAL, "announce_rows")),
    Fault("sums are not signalled", "not ordered", without(SIGNAL, "signal_ranks")),
    Fault("a signal without release", "is not ordered after the store of", library=("exchange.cuh", "storeRelease(partOf<uint32_t>", "storeGlobal(partOf<uint32_t>")),
    Fault("a wait without acquire", "is not ordered after the atomic updates of it", library=("pipeline.cuh", "int32_t(loadAcquire(counter MOE_FROM_CALLER)", "int32_t(loadGlobal(counter MOE_FROM_CALLER)")),
    Fault("the signal before what it tells of", "load of announcements", signal_first),
    Fault("the exchange is not counted", "not ordered", launches=dropped("next_exchange", 1)),
    Fault("a wait for the exchange before", "not ordered", library=("exchange.cuh", "waitCounter(flag, epoch,", "waitCounter(flag, epoch - 1,")),
    Fault("rows go to another rank", "not ordered", library=("exchange.cuh", "partOf<T>(peers, offset, peer MOE_FROM_CALLER) + to * kCount", "partOf<T>(peers, offset, 0 MOE_FROM_CALLER) + to * kCount")),
    Fault("flags go to another rank", "not ordered", library=("exchange.cuh", "partOf<uint32_t>(peers, offset, peer MOE_FROM_CALLER)", "partOf<uint32_t>(peers, offset, loadGlobal(&peers->rank))")),
    Fault("rows are a row off", "wrong result", library=("exchange.cuh", "source + row * kCount", "source")),
    Fault("a window for rows is too small", "outside every registered buffer", shrink=("rows",)),
    Fault("a window for summands is too small", "outside every registered buffer", shrink=("summands",), tokens="replicated"),
    Fault("rows are sent behind the signal", "not ordered", launches=lambda launches: swapped(launches, "send_rows", "announce_rows")),
    Fault("sums are read before the wait", "load of sums", launches=lambda launches: swapped(launches, "await_ranks", "combine_40_bf16")),
    Fault("the halves of the summands' window do not take turns", "is not ordered after a load of it", lambda text: halves_stay(text), tokens="replicated"),
    Fault("a launch that signals is missing", "not ordered", launches=dropped("signal_ranks")),
    Fault("a launch that waits is missing", "load of sums", launches=dropped("await_ranks")),
]


def swapped(launches, first, second):
    names = [launch[0] for launch in launches]
    i = next(i for i, name in enumerate(names) if name.startswith(first))
    j = next(j for j in range(i, len(names)) if names[j].startswith(second))
    launches[i], launches[j] = launches[j], launches[i]
    return launches


def halves_stay(text):
    """Which half is the epoch's lowest bit."""
    changed, count = re.subn(r"\b(v\d+) & 1\b|\b(v\d+) & (v\d+)\b", "0", text)
    assert count
    return changed


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    return {tokens: kernel_level(LAYER, 2, tokens, folder) for tokens in ("split", "replicated")}


def findings(program, fault, expected):
    """What each interleaving finds; "" is nothing."""
    for schedule in INTERLEAVINGS:
        split = fault.tokens == "split"
        edit = fault.launches or (lambda launches: launches)
        found, outputs, status = program.run(bits(LAYER.inputs()), bits(LAYER.weights()), split, edit, fault.shrink, **schedule)
        if found:
            yield found
        elif any(status):
            yield f"status {status}"
        else:
            outputs = outputs if split else outputs[:1]
            right = np.array_equal(whole(outputs, split, LAYER.element), expected[fault.tokens])
            yield "" if right else "wrong result"


@pytest.fixture(scope="module")
def expected(levels, tmp_path_factory):
    results = {}
    for tokens, level in levels.items():
        program = RankedProgram(level, 2, tmp_path_factory.mktemp(tokens))
        fault, outputs, status = program.run(bits(LAYER.inputs()), bits(LAYER.weights()), tokens == "split")
        assert (fault, status) == ("", [0, 0])
        results[tokens] = whole(outputs, tokens == "split", LAYER.element)
    return results


def check(fault, findings):
    """One of the interleavings finds it; those before it have found it in another way, or nothing."""
    others = []
    for found in findings:
        if fault.found in found:
            return
        others.append(found)
    raise AssertionError(others)


def planted(fault, level, folder):
    """The program with the fault in its text or in its device library."""
    device = DEVICE
    if fault.library:
        file, old, new = fault.library
        device = folder / "device"
        shutil.copytree(DEVICE, device)
        (folder / "emulation").symlink_to(DEVICE.parent / "emulation")
        text = (device / file).read_text()
        assert text.count(old) == 1, old
        (device / file).write_text(text.replace(old, new))
    return RankedProgram(level, 2, folder / "kernels", fault.text or (lambda text: text), device)


@pytest.mark.parametrize("fault", sample(FAULTS, *range(0, len(FAULTS), 2)), ids=lambda fault: fault.name)
def test_a_fault_is_found(fault, levels, expected, tmp_path):
    check(fault, findings(planted(fault, levels[fault.tokens], tmp_path), fault, expected))


@pytest.mark.parametrize("fault", RING_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_one_launch_is_found(fault, tmp_path):
    program = planted(fault, rank_ring.LEVEL, tmp_path)
    edit = {"edit": fault.launches} if fault.launches else {}
    check(fault, (rank_ring.run(program, **edit, **schedule) for schedule in INTERLEAVINGS))
