"""Machine code of a kernel: its instructions by what they do, and its basic blocks."""

import re
import subprocess
from dataclasses import dataclass

from ..errors import BenchError

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*$")
HEAD = re.compile(r"^([0-9a-f]+) <(.+)>:$")
TARGET = re.compile(r"^(?:0x)?([0-9a-f]+)\b")

KINDS = ("products", "products that load", "loads", "prefetches", "stores", "others")

# Multiplications that add, in vectors and in matrix registers.
PRODUCTS = ("vfm", "vfnm", "vdpbf16", "vpdp", "tdp")
# They have an operand in memory and read nothing of it.
ADDRESSES = ("lea", "nop")
# Their last operand is read, not written; and those that begin alike and write it.
READERS = ("cmp", "test", "push", "call", "j", "bt", "ldmxcsr", "vldmxcsr", "mul", "imul", "div", "idiv")
WRITERS = ("cmpxchg", "btc", "btr", "bts")

# What follows them is not what runs next, or not always.
LEAVERS = ("j", "ret", "ud2")

PREFIXES = re.compile(r"^(?:(?:lock|rep|repne|repz|repnz|notrack|data16)\s+)+(?=\S)")


@dataclass(frozen=True)
class Instruction:
    """One instruction in the AT&T syntax: operands in the order of reading, the result last."""

    address: int
    name: str
    operands: str

    @property
    def kind(self):
        """One of KINDS."""
        if self.name.startswith("prefetch"):
            return "prefetches"
        sources, result = _split(self.operands)
        if self.name.startswith(PRODUCTS):
            return "products that load" if "(" in sources else "products"
        if self.name.startswith(ADDRESSES):
            return "others"
        if "(" in result:
            return "loads" if self.name.startswith(READERS) and not self.name.startswith(WRITERS) else "stores"
        return "loads" if "(" in sources else "others"

    @property
    def jumps_to(self):
        """Address that a jump goes to, or None."""
        target = TARGET.match(self.operands) if self.name.startswith("j") else None
        return int(target[1], 16) if target else None


def _split(operands):
    """(all but the last operand, the last one): commas inside of brackets belong to an address."""
    depth = 0
    for index in range(len(operands) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(operands[index], 0)
        if operands[index] == "," and not depth:
            return operands[:index], operands[index + 1 :]
    return "", operands


def disassemble(objdump, library, symbols):
    """{symbol: its instructions in their order} of an ELF file."""
    command = [objdump, "-d", "--no-show-raw-insn", f"--disassemble-symbols={','.join(symbols)}", str(library)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"'{' '.join(command)}' failed: {done.stderr.strip()}", 70)
    return parse(done.stdout)


def parse(text):
    """The same of llvm-objdump's text."""
    result, current = {}, None
    for line in text.splitlines():
        head, found = HEAD.match(line), LINE.match(line)
        if head:
            current = None if head[2] in result else result.setdefault(head[2], [])  # of local functions of one name, the first
        elif found and current is not None:
            name, *operands = PREFIXES.sub("", f"{found[2]} {found[3]}").split(maxsplit=1)
            current.append(Instruction(int(found[1], 16), name, "".join(operands).split("#")[0].split("<")[0].strip()))
    return result


def basic_blocks(instructions):
    """Pieces of `instructions` that are entered at their first and left at their last one only: an innermost loop without branches is one of them."""
    targets = {instruction.jumps_to for instruction in instructions}
    blocks, current = [], []
    for instruction in instructions:
        if instruction.address in targets and current:
            blocks.append(current)
            current = []
        current.append(instruction)
        if instruction.name.startswith(LEAVERS):
            blocks.append(current)
            current = []
    return [*blocks, current] if current else blocks
