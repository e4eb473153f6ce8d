"""Writes the table of the functions that kernels call into docs/cuda/functions.md (scripts/update-docs).

usage: llvm-tblgen --dump-json .../CudaOps.td | contracts.py REPOSITORY > PAGE

What a function is comes from the cuda dialect's TableGen files; where it is, and what it is made of, from the device library and the emulation.
"""

import json
import re
import sys
from pathlib import Path

BEGIN = "<!-- written by scripts/update-docs from include/moe-mlir/Dialect/Cuda/IR -->\n"
END = "<!-- end of what scripts/update-docs writes -->\n"


def primitives(text):
    """Functions of one instruction, or their twins, that a header defines at the start of a line."""
    text = text.split("namespace moe {", 1)[1]
    definition = r"^(?:template <[^>]*> )?(?:MOE_DEVICE |inline )?(?:constexpr )?[\w:]+ (\w+)\([^;]*?\)(?: \{|;)"
    names = set(re.findall(definition, text, re.M))
    # wgmma.cuh writes its products by macros.
    return names | {f"wgmma{suffix}" for suffix in re.findall(r'MOE_WGMMA\(N, "\w+", (\w+),', text)}


def bodies(text):
    """Of functions made of others: each name, and the text of all its overloads."""
    text = re.sub(r"//.*", "", text)
    found = {}
    for match in re.finditer(r"MOE_DEVICE (?:constexpr )?[\w:<>, ]+? \*?(\w+)\([^{;]*\{", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found[match[1]] = found.get(match[1], "") + text[match.end() : end]
    return found


class Library:
    """The functions of both sides, by name."""

    def __init__(self, runtime):
        self.device = {path.stem: primitives(path.read_text()) for path in (runtime / "device/sm90").glob("*.cuh")}
        self.emulation = {path.stem: primitives(path.read_text())
                          for path in (runtime / "emulation/primitives").glob("*.h") if path.stem != "prelude"}
        self.instructions = set().union(*self.device.values())
        self.twins = set().union(*self.emulation.values())
        self.made = {name: (path.name, body) for path in sorted((runtime / "device").glob("*.cuh")) if path.stem != "prelude"
                     for name, body in bodies(path.read_text()).items()}

    def parts(self, name, seen):
        """Primitives that the function calls, itself or by others, in their order."""
        for callee in re.findall(r"(?<![.\w])(\w+)(?:<[^<>;()]*>)?\(", self.made[name][1]):
            if callee in seen:
                continue
            seen.add(callee)
            if callee in self.instructions:
                yield callee
            elif callee in self.made:
                yield from self.parts(callee, seen)

    def contract(self, record, name):
        """What the function is on the GPU, and in the emulation."""
        gpu, emulation = record["gpu"], record["emulation"]
        where = ", ".join(record["!locs"])
        if name in self.made:
            if gpu or emulation:
                sys.exit(f"error: {where}: '{name}' is made of other functions; its contract is theirs: leave out 'gpu' and 'emulation'")
            parts = ", ".join(f"`{part}`" for part in self.parts(name, {name}))
            return f"of {parts}" if parts else "plain C++", f"the same text, `{self.made[name][0]}`"
        for side, names in (("runtime/device", self.instructions), ("runtime/emulation/primitives", self.twins)):
            if name not in names:
                sys.exit(f"error: {where}: {side} has no function '{name}'; write it there, or mend the name here")
        if not gpu:
            sys.exit(f"error: {where}: '{name}' has no 'gpu', which says the instruction that it is")
        return gpu, emulation


def table(records, library):
    """A row for neighbours that are the same."""
    ops = [records[name] for name in records["!instanceof"]["Cuda_Call"]]
    ops.sort(key=lambda op: [(file, int(line)) for file, line in (place.split(":") for place in op["!locs"])])
    others = [records[case["def"]] for case in records["Cuda_DeviceFunction"]["enumerants"]]
    entries = [(f"`cuda.{op['opName']}`", op["cFunction"], op) for op in ops] + [("", case["str"], case) for case in others]
    rows = []
    for op, function, record in entries:
        name = function.removeprefix("moe::")
        contract = library.contract(record, name)
        if not rows or rows[-1][2] != contract:
            rows.append(([], [], contract))
        rows[-1][0].append(op)
        rows[-1][1].append(f"`{name}`")
    lines = ["| op | function | on the GPU | in the emulation |", "|---|---|---|---|"]
    for ops, functions, (gpu, emulation) in rows:
        cells = [" ".join(ops).strip(), " ".join(functions), gpu, emulation]
        lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


def written(page, rows):
    """The page with these rows between the marks."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        sys.exit(f"error: docs/cuda/functions.md needs one line '{BEGIN.strip()}' and one '{END.strip()}'; the table stands between them")
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + rows + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    sys.stdout.write(written((root / "docs" / "cuda" / "functions.md").read_text(), table(json.load(sys.stdin), Library(root / "runtime"))))
