"""What NVRTC makes of five models' kernels, as a table: seconds, registers, shared memory, instructions. Measure on an idle machine."""

import sys
from pathlib import Path

from .cases import MODELS
from .compiling import ROOT, compile_cubin, compile_layer, nvrtc

GOAL = 1.5  # seconds per kernel
OPCODES = ("HGMMA", "UTMALDG", "LDGSTS", "LDL", "STL")


def rows(build):
    """Yields (model, kernel, seconds, usage, {opcode: count}, bytes)."""
    compiler = nvrtc()
    sys.path.insert(0, str(ROOT / "test" / "python" / "cuda"))
    from nvrtc import usages
    from sass import count, disassemble

    # The first compile of a process loads the library.
    warm = False
    for model, layer in MODELS.items():
        for name, kernel in compile_layer(build, layer, model).kernels.items():
            if not warm:
                warm = bool(compile_cubin(compiler, kernel))
            cubin, log, seconds = compile_cubin(compiler, kernel)
            blocks = disassemble(cubin)[name]
            yield model, kernel, seconds, usages(log)[name], {opcode: count(blocks, opcode) for opcode in OPCODES}, len(cubin)


def main():
    slowest = 0.0
    print("| model | kernel | NVRTC s | registers | spills | shared | " + " | ".join(OPCODES) + " | bytes |\n" + "|---" * (7 + len(OPCODES)) + "|")
    for model, kernel, seconds, usage, counts, size in rows(Path(sys.argv[1])):
        slowest = max(slowest, seconds)
        cells = [model, kernel.name, f"{seconds:.2f}", usage.registers, usage.spills, kernel.shared, *counts.values(), size]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(f"\nslowest: {slowest:.2f} s; the goal is {GOAL} s")


if __name__ == "__main__":
    main()
