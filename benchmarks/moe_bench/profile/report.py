"""The text of a profile: kernels, their hottest blocks, what a block is made of and what it waits for."""

import collections
from dataclasses import dataclass

from .machinecode import KINDS, basic_blocks

# Kernels and blocks with less than this share of all samples are not shown.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Block:
    """A basic block.

    samples       how many, by the kind of the instruction that had not finished
    instructions  how many of each kind
    body          the instructions
    """

    samples: collections.Counter
    instructions: collections.Counter
    body: list


def blocks(instructions, samples):
    """The blocks of a kernel by their samples, the hottest first; `samples` is {offset in the kernel: samples}."""
    begin = instructions[0].address
    result = []
    for body in basic_blocks(instructions):
        found = collections.Counter()
        for instruction in body:
            found[instruction.kind] += samples.get(instruction.address - begin, 0)
        result.append(Block(found, collections.Counter(i.kind for i in body), body))
    return sorted(result, key=lambda block: -block.samples.total())


def text(inside, elsewhere, code, cycles):
    """Lines of a profile.

    inside, elsewhere  samples, see sampling.read
    code               {symbol: instructions}
    cycles             function of a block's instructions: estimated clock cycles of it as a loop's body, or None
    """
    total = sum(samples.total() for samples in inside.values()) + elsewhere.total()
    if not total:
        return ["  no samples: the call ran too short, see --seconds"]
    lines, rest = [], elsewhere.total()
    for symbol, samples in sorted(inside.items(), key=lambda item: -item[1].total()):
        count = samples.total()
        if count < LEAST_SHARE * total:
            rest += count
            continue
        lines.append(f"  {share(count, total)} {symbol}")
        for block in blocks(code[symbol], samples) if code.get(symbol) else ():
            if block.samples.total() >= LEAST_SHARE * total:
                is_loop = block.body[-1].jumps_to == block.body[0].address
                lines += block_lines(block, count, cycles(block.body) if is_loop else None)
    names = ", ".join(f"{share(n, total).strip()} {name}" for name, n in elsewhere.most_common() if n >= LEAST_SHARE * total)
    return [*lines, f"  {share(rest, total)} elsewhere" + (f" ({names})" if names else "")]


def block_lines(block, kernel_samples, cycles):
    """Two lines about a block of a kernel with so many samples."""
    hot = block.samples.total()
    mix = ", ".join(f"{block.instructions[kind]} {kind}" for kind in KINDS if block.instructions[kind])
    bound = "" if cycles is None else f"; {cycles:.0f} cycles if all data is at hand"
    waits = ", ".join(f"{share(block.samples[kind], hot).strip()} {kind}" for kind in KINDS if block.samples[kind] >= 0.005 * hot)
    return [f"      {share(hot, kernel_samples)} block of {mix}{bound}", f"            time at: {waits}"]


def share(part, whole):
    return f"{100 * part / whole:3.0f} %"
