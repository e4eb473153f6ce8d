"""Repeated calls of a layer on the same tokens: do they leave the same bits, and if not, which launch was the first to leave others?

Buffers of a call stay as its launches left them until the next call. So a fault that happens in one run of many is found in what that run
left, without another run.
"""

import torch

from .execution import changeable

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
MOST = 4  # different outcomes that are kept


def bits(tensor):
    return tensor.view(BITS[tensor.element_size()])


def writers(layer):
    """{buffer: number of the first launch that may write it}"""
    first = {}
    for number, launch in enumerate(layer.plan.launches):
        for index in changeable(layer.plan, launch):
            first.setdefault(index, number)
    return first


def call_launch_by_launch(layer, x):
    """A call; returns {buffer: number of the first launch that changed it, or that may have written what was there}."""
    first, changed = writers(layer), {}
    for number, launch in enumerate(layer.plan.launches):
        indices = [i for i in changeable(layer.plan, launch) if i not in changed]
        before = {i: layer.buffers[i].clone() for i in indices}
        layer.launch(number, x)
        changed |= {i: number for i in indices if not torch.equal(bits(before[i]), bits(layer.buffers[i]))}
    return {**first, **changed}


def outcomes(layer, x, runs, buffers):
    """[(buffers after it, numbers of the runs that left them)], the most frequent one first."""
    found = []
    for run in range(runs):
        layer(x)
        layer.gpu.synchronize()
        for state, numbers in found:
            if all(torch.equal(bits(state[i]), bits(layer.buffers[i])) for i in buffers):
                numbers.append(run)
                break
        else:
            if len(found) == MOST:
                break
            found.append(({i: layer.buffers[i].clone() for i in buffers}, [run]))
    return sorted(found, key=lambda outcome: -len(outcome[1]))


def difference(layer, first_writer, usual, other):
    """What distinguishes an outcome: elements of the result, and the first launch of which a buffer differs, with its elements."""
    differing = {i: int((bits(usual[i]) != bits(other[i])).sum()) for i in usual}
    number = min(first_writer[i] for i, count in differing.items() if count)
    return {
        "result elements": differing[layer.output], "launch": number, "kernel": layer.names[number],
        "launch elements": sum(count for i, count in differing.items() if first_writer[i] == number),
    }  # fmt: skip


def steadiness(layer, x, runs):
    """(result of most runs, [{"runs": numbers, and what `difference` says}] of the others, runs that were made)"""
    first_writer = call_launch_by_launch(layer, x)
    found = outcomes(layer, x, runs, sorted(first_writer))
    usual = found[0][0]
    faults = [{"runs": numbers, **difference(layer, first_writer, usual, state)} for state, numbers in found[1:]]
    return usual[layer.output], faults, sum(len(numbers) for _, numbers in found)
