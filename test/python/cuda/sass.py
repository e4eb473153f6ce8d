"""Machine code of a cubin, by nvdisasm of the package nvidia-cuda-nvdisasm: instructions of a kernel, block by block."""

import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

FUNCTION = re.compile(r"^\.text\.(\w+):$")
LABEL = re.compile(r"^(\.L\w*):$")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P[\dT]+ )?\s*([A-Z][\w.]*)\s*([^;]*?)\s*;")
# What stands between two products of a step: addresses, descriptors and conditions, by units that hold up no tensor core.
HARMLESS = re.compile(r"^(U\w+|R2UR|NOP|MOV|IMAD|IADD3|VIADD|LOP3|LEA|SHF|ISETP|SEL|PLOP3|P2R|BSSY)(\.|$)")


@dataclass
class Instruction:
    opcode: str
    operands: str


def find_nvdisasm():
    """The program in the Python package or in PATH, or None."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else []:
        for program in sorted(Path(root).glob("cu*/bin/nvdisasm")):
            return program
    return shutil.which("nvdisasm")


def disassemble(cubin):
    """Basic blocks of each kernel of a cubin: {name: [[Instruction]]}."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([find_nvdisasm(), "-c", file.name], check=True, capture_output=True, text=True).stdout
    return parse(text)


def parse(text):
    functions, blocks = {}, None
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            blocks = functions.setdefault(match[1], [[]])
        elif blocks is None:
            continue
        elif LABEL.match(line):
            blocks.append([])
        elif match := INSTRUCTION.match(line):
            blocks[-1].append(Instruction(*match.groups()))
            if match[1].split(".")[0] in ("BRA", "EXIT", "BRX", "RET", "CALL"):
                blocks.append([])
    return {name: [block for block in blocks if block] for name, blocks in functions.items()}


def count(blocks, prefix):
    return sum(instruction.opcode.startswith(prefix) for block in blocks for instruction in block)


def epilogues(blocks):
    """Instructions from each wait for all products to the last store to global memory before the next such wait."""
    code = [instruction for block in blocks for instruction in block]
    waits = [i for i, x in enumerate(code) if x.opcode.startswith("WARPGROUP.DEPBAR") and x.operands.endswith("0x0")]
    stores = [i for i, x in enumerate(code) if x.opcode.startswith("STG")]
    spans = [[i - wait for i in stores if wait < i < end] for wait, end in zip(waits, [*waits[1:], len(code)])]
    return [span[-1] for span in spans if span]


def broken_product_groups(blocks):
    """What stands between the products of a step that should stand back to back, as lines; [] if nothing does.

    The products of a step are one group: the last one names the scoreboard that the wait names, and nothing between them
    waits, synchronises, branches or touches memory.
    """
    problems = []
    for block in blocks:
        inside = []  # since the first product of a group
        for instruction in block:
            product = instruction.opcode.startswith("HGMMA")
            if not product and not inside:
                continue
            inside.append(instruction)
            if product and "gsb0" in instruction.operands:
                problems += [f"{i.opcode} {i.operands}" for i in inside if not i.opcode.startswith("HGMMA") and not HARMLESS.match(i.opcode)]
                inside = []
        if inside:
            problems.append(f"{len(inside)} instructions from {inside[0].opcode} on without the end of the group")
    return problems
