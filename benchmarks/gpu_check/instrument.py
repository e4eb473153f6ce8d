"""Expert products that write when each tile has its first stage, its last product, and its results stored: made when the bundle is made.

Two slots follow the others of a kernel: a buffer of records (stamps.py says what is in them) and how many of them a block has.
"""

import dataclasses
import re

from .compiling import CompileError, add_cubins, compile_layer
from .partial import Kind, save_partial
from .program import Program
from .sizes import DRY, REAL
from .variants import EXPERTS, substitute

HEAD = """
#ifndef MOE_STAMPS // kernels of one text share it
#define MOE_STAMPS
/// One thread of a block writes: cycles and nanoseconds of now.
MOE_DEVICE void stamp(uint64_t *record, int at) {
  if (record) {
    moe::storeGlobal(record + at, moe::cycleCount());
    moe::storeGlobal(record + at + 1, moe::globalTime());
  }
}

/// Ends a record, and returns the next one: null if there is none.
MOE_DEVICE uint64_t *endRecord(uint64_t *record, const uint64_t *end, int64_t rows) {
  if (!record)
    return nullptr;
  stamp(record, 6);
  moe::storeGlobal(record + 1, uint64_t(rows));
  moe::storeGlobal(record, uint64_t(moe::multiprocessor()) + 1);
  return record + 8 < end ? record + 8 : nullptr;
}
#endif
"""
PARAMETERS = "uint64_t *stamps, int64_t stampsOfBlock, "
# The first thread of the first warpgroup that multiplies.
FIRST = r"""\g<0>    uint64_t *record = moe::threadIndex() == 128 && stampsOfBlock ? stamps + 8 * stampsOfBlock * moe::blockIndex() : nullptr;
    const uint64_t *const end = stamps + 8 * stampsOfBlock * (moe::blockIndex() + 1);
"""
ROLE = r"\A\d+>\(\);\n"
# Each form of a tile, for few rows and for many, has one of each.
# There is no loop where one stage has all of K.
LOOP = r"^( *)(?:#pragma unroll 1\n *for \(.*\n *)?\w+ v\d+ = (moe::await\(v\d+\);\n)"
PRODUCTS = r"^( *)moe::wgmmaWait<0>\(v\d+\);\n(?! *moe::wgmmaWait)"
EPILOGUE = r"(^( *)moe::release<1>\(v\d+\);\n(?:\2\w.*;\n)*\2(?:#pragma unroll\n\2for|if) \((?s:.*?)^\2\}\n)"


def instrument(kernel):
    """The kernel with stamps."""
    head, role, roles = kernel.text.partition("moe::increaseRegisters<")
    if not role:
        raise CompileError(f"{kernel.name} has no role that multiplies")
    head = substitute(head, (r"(?=^extern \"C\")", HEAD.lstrip() + "\n", 1), (r"(?=const __grid_constant__ CUtensorMap)", PARAMETERS, None))
    # Of several maps the parameters stand before the first.
    first, *rest = head.split(PARAMETERS)
    head = first + PARAMETERS + "".join(rest)
    rows = re.search(r"if \((v\d+) <= 16\) \{", roles)[1]
    roles = substitute(
        roles,
        (ROLE, FIRST, 1),
        (LOOP, r"\1\2\1stamp(record, 2);\n\g<0>", 2),
        (PRODUCTS, r"\g<0>\1stamp(record, 4);\n", 2),
        (EPILOGUE, rf"\1\2record = endRecord(record, end, {rows});\n", 2),
    )
    return dataclasses.replace(kernel, text=head + role + roles)


def make_stamped(program):
    """(program, Kind) with stamps in the expert products, without cubins."""
    names = tuple(name for name in program.kernels if name.startswith(EXPERTS))
    if not names:
        raise CompileError(f"{program.name} has no expert products to write stamps")
    kernels = {name: instrument(kernel) if name in names else kernel for name, kernel in program.kernels.items()}
    return Program(program.name, program.layer, program.host, kernels, {}), Kind(program.name, "stamps", "bits", "text", names)


def write_stamped(folder, build, compiler, cache, say, chosen=(REAL, DRY)):
    """stamps/MODEL of a bundle in `folder`, of the models that `chosen` sizes measure. `cache`: cubins by kernel text."""
    for sizes in chosen:
        for model in sizes.measured:
            say(f"{model}: stamps")
            program, kind = make_stamped(compile_layer(build, sizes.models[model], model))
            add_cubins(program, compiler, cache, kind.kernels)
            save_partial(program, kind, folder / "stamps")
