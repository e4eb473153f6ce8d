"""Variants of a layer's expert products, each with one thing changed, for ablations: made when the bundle is made.

Each is an edit in one place: of the fields of `kernel.target` or of each kernel's `kernel.plan`, else of the kernel level's text, else of the CUDA text. An edit that finds nothing
to change, or changes no expert product, is an error.
"""

import re
from dataclasses import dataclass, replace

from .compiling import CompileError, add_cubins, compile_graph, compile_layer, compile_texts, unchanged
from .partial import Kind, save_partial
from .sizes import DRY, REAL

EXPERTS = ("experts_up", "experts_down")


def substitute(text, *changes):
    """Each (pattern, replacement, how often it must apply; None: once or more)."""
    for pattern, replacement, times in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.M)
        if count != times and not (times is None and count):
            raise CompileError(f"the edit of '{pattern}' applies {count} times, not {times or 'once or more'}")
    return text


def set_target(**fields):
    """Edit of a module: fields of its `kernel.target`, numbers or words."""

    def edit(module):
        head, rest = re.match(r"(module attributes \{.*?kernel\.target = #cuda\.target<.*?>.*?\n)(.*)", module, re.S).groups()
        return substitute(head, *((rf"\b{name} = \w+", f"{name} = {value}", 1) for name, value in fields.items())) + rest

    return edit


def set_plans(**fields):
    """Edit of the level: fields of the `kernel.plan` of all kernels that have one."""

    def edit(level):
        def edited(plan):
            return substitute(plan[0], *((rf"\b{name} = \w+", f"{name} = {value}", 1) for name, value in fields.items()))

        level, count = re.subn(r"#cuda\.plan<[^>]*>", edited, level)
        if not count:
            raise CompileError("no kernel has a plan")
        return level

    return edit


def swap_arrivals(level):
    """Edit of the level: each `kernel.plan` has the arrival that was not chosen."""
    other = {"lag": "noinc", "noinc": "lag"}
    return substitute(level, (r"(#cuda\.plan<[^>]*\barrival = )(\w+)", lambda found: found[1] + other[found[2]], None))


def in_kernel(prefix, edit, level):
    """The level with `edit` applied to the text of its kernel whose name begins so."""
    (kernel,) = re.findall(rf"^  kernel\.func @{prefix}.*?^  \}}\n", level, re.M | re.S) or [None]
    if kernel is None:
        raise CompileError(f"there is no kernel {prefix}")
    return level.replace(kernel, edit(kernel))


# The rows that a tile of the first product gathers: where the region begins, the index that it loads, and what it yields.
GATHERED = (
    r"^( *)(%\d+) = kernel\.row_indices (%\w+) \{\n *\^bb0\((%\w+): index\):\n"
    r" *(%\d+) = memref\.load %\w+\[\4\] : memref<\?xi32>\n *(%\d+) = arith\.index_cast \5 : i32 to index\n *kernel\.yield \6 : index$"
)


def neighbours(by_tma):
    """Edit of the level: the rows of a tile are neighbours, of which each tile has others. The compiler lets TMA bring rows whose index is the
    first one plus a number; a maximum with zero hides that from it."""

    def edit(kernel):
        tokens = re.search(r"\(%arg0: (memref<\?x\d+x\w+>),", kernel)[1]
        yields = r"\1  kernel.yield \4 : index" if by_tma else r"\1  %hidden = arith.maxsi \4, %zero : index\n\1  kernel.yield %hidden : index"
        lines = (
            r"\1%zero = arith.constant 0 : index", rf"\1%tokens = memref.dim %arg0, %zero : {tokens}", r"\1%most = arith.constant 127 : index",
            r"\1%places = arith.subi %tokens, %most : index", r"\1%one = arith.constant 1 : index", r"\1%several = arith.maxsi %places, %one : index",
            r"\1%first = arith.remui \3, %several : index", r"\1\2 = kernel.row_indices %first {", r"\1^bb0(\4: index):", yields,
        )  # fmt: skip
        return substitute(kernel, (GATHERED, "\n".join(lines), 1))

    return lambda level: in_kernel("experts_up", edit, level)


def without_epilogue(text):
    """Edit of the CUDA text: nothing is computed of the sums or stored. No launch has a negative number of rows, which the compiler cannot know."""
    rows = re.search(r"\bint64_t (v\d+)[,)]", text)[1]
    # The innermost condition of each store.
    stored = r"^( *)if \((.*)\) \{\n((?:\1 .*\n)*?\1  moe::store(?:Global|Pair)\()"
    return substitute(text, (stored, rf"\1if ({rows} < 0 && (\2)) {{\n\3", 2))


@dataclass(frozen=True)
class Variant:
    kind: Kind
    target: object = unchanged
    level: object = unchanged
    text: object = unchanged


def variant(name, what, keeps, **edits):
    return Variant(Kind(name, what, keeps, ", ".join(edits)), **edits)


VARIANTS = [
    variant("fence-all", "proxy fence of all memory, not of shared memory alone", "bits", level=set_plans(proxy_fence="all")),
    variant("arrival-other", "copied rows arrive in the way that was not chosen: by themselves, or some steps later by warps", "bits", level=swap_arrivals),
    variant("silu-exact", "exact exponential and quotient in the activation", "rounding", target=set_target(activation="exact")),
    variant("epilogue-off", "sums are neither read nor stored", "nothing", text=without_epilogue),
    variant("rows-neighbours", "a tile's rows are neighbours, copied by threads as before", "nothing", level=neighbours(by_tma=False)),
    variant("rows-tma", "a tile's rows are neighbours, brought by TMA", "nothing", level=neighbours(by_tma=True)),
    variant("stages-3", "a ring of 3 stages", "bits", level=set_plans(stages=3)),
    variant("columns-128", "tiles of 128 columns at most, as many stages as fit", "bits", target=set_target(columns=128)),
    variant("columns-128-stages-4", "tiles of 128 columns at most, a ring of 4 stages", "bits", target=set_target(columns=128), level=set_plans(stages=4)),
]


def recipes(program, kernel):
    """How the weights of a kernel are packed."""
    plan = program.plan(1)
    (launch,) = [launch for launch in plan.launches if launch.kernel == kernel]
    return [plan.buffers[argument["buffer"]].recipe for argument in launch.arguments if "buffer" in argument]


def make_variant(build, base, change):
    """(program, Kind) of the variant of a layer's program, without cubins. Only expert products may be others."""
    try:
        program = compile_graph(build, base.layer.graph(), base.layer, change.kind.name, change.target, change.level)
        for name, kernel in program.kernels.items():
            if name.startswith(EXPERTS):
                kernel.text = change.text(kernel.text)
            elif recipes(program, name) != recipes(base, name):
                raise CompileError(f"{name} has other weights")
            else:
                program.kernels[name] = base.kernels[name]
    except CompileError as error:
        raise CompileError(f"{base.name}, variant {change.kind.name}: {error}") from None
    different = tuple(x for x in program.kernels if program.kernels[x].text != base.kernels[x].text)
    if not different:
        raise CompileError(f"{base.name}, variant {change.kind.name} changes no expert product")
    return program, replace(change.kind, kernels=different)


def write_variants(folder, build, compiler, cache, say, chosen=(REAL, DRY)):
    """variants/MODEL/VARIANT of a bundle in `folder`, of the models that `chosen` sizes measure. `cache`: cubins by kernel text."""
    for sizes in chosen:
        for model in sizes.measured:
            say(f"{model}: variants")
            base = compile_layer(build, sizes.models[model], model)
            made = [make_variant(build, base, change) for change in VARIANTS]
            compile_texts(compiler, [program.kernels[name] for program, kind in made for name in kind.kernels], cache)
            for place, (program, kind) in enumerate(made):
                add_cubins(program, compiler, cache, kind.kernels)
                save_partial(program, replace(kind, place=place), folder / "variants" / model)
