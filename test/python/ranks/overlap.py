"""The two groups of launches of an overlapped exchange: rows travel while the first product runs, and sums while the second one does.

`overlapped` puts them into the text of a plain program of two ranks at level kernel, in the place of its launches that send, multiply and return. Products
and sums are the plain program's own, line by line, but for where a block's work begins and ends, its waits and its signals; the other kernels are written
by hand (overlap_kernels.py)."""

import re
from dataclasses import dataclass

from edited import in_kernel, line_of, substitute, without
from overlap_kernels import COLLECT, FLAG_OF, ORDER, RETURN, SEND, UP_HEAD, UP_WAIT

RANKS = 2
FLAGS = 1024  # of a window


@dataclass(frozen=True)
class Schedule:
    """`steps`: in which phase of the first product the rows of how many ranks are taken, (2,) or (1, 1); `chunk`: rows of a flag; `slices`: phases of the
    second product. `joined`: without it the launches stand one after the other."""

    steps: tuple = (1, 1)
    chunk: int = 4
    slices: int = 2
    joined: bool = True


class Launch:
    """A launch in a text: its kernel, its operands (value, type), and what stands before their types."""

    def __init__(self, text, kernel):
        self.pattern = rf"kernel\.launch @{kernel}\("
        line = line_of(self.pattern, text)
        self.kernel, values, self.rest, types = re.fullmatch(r" *kernel\.launch @(\w+)\(([^)]*)\)(.*) : (.*)\n", line).groups()
        self.operands = list(zip(values.split(", "), re.findall(r"(?:[^,<]|<[^>]*>)+", types.replace(", ", ","))))

    def type(self, number):
        return self.operands[number][1]


def launch(kernel, rest, *operands):
    return f"kernel.launch @{kernel}({', '.join(v for v, _ in operands)}){rest} : {', '.join(t for _, t in operands)}\n"


def parameters(operands, names):
    return ", ".join(f"%{name}: {type}" for name, (_, type) in zip(names, operands, strict=True))


def overlapped(text, schedule):
    """The plain program's text with this schedule."""
    return Overlap(text, schedule).write()


class Overlap:
    def __init__(self, text, schedule):
        self.text, self.schedule = text, schedule
        self.up, self.down = Launch(text, r"experts_up_\w+"), Launch(text, r"experts_down_\w+")
        self.combine, self.send, self.back = Launch(text, r"combine_\w+_f32_\w+"), Launch(text, "send_rows"), Launch(text, "send_sums")
        # One launch raises the flags of the way back and waits for them, or one each.
        self.waits_apart = "kernel.launch @await_ranks(" in text
        self.wait = Launch(text, "await_ranks" if self.waits_apart else "meet_ranks")

        # The layout of the rows that came is the second one of a layer.
        layouts = re.findall(r"kernel\.launch (@layout_\d+\(.*\n)", text)
        self.offsets = Launch("kernel.launch " + layouts[1], r"layout_\d+").operands[1]
        experts = int(re.search(r"<(\d+)x", self.offsets[1])[1]) - 1
        hidden = int(re.search(r"\?x(\d+)xbf16", self.up.type(0))[1])
        columns = int(re.search(r"<\d+x(\d+)x", self.down.type(1))[1])
        steps, slices = len(schedule.steps), schedule.slices
        assert columns % slices == 0
        self.sizes = {"H": hidden, "E": experts, "E1": experts + 1, "S": steps, "R": experts * steps, "FLAGS": FLAGS, "last": steps - 1,
                      "chunk": schedule.chunk, "slices": slices, "J": columns // slices, "width": hidden // slices}  # fmt: skip

        # What the new launches take.
        _, self.sums, self.me, self.room, self.arrived, self.firsts = self.back.operands
        self.sent_firsts, self.tokens, self.x, self.rows = self.send.operands[2:6]
        flags = f"!kernel.window<{FLAGS}xi32>"
        self.rows_came, self.sums_came, self.chunks = ("%rows_came", flags), ("%sums_came", flags), ("%chunks", "index")
        self.records, self.counts = ("%records", f"memref<{self.sizes['R']}x5xi32>"), ("%counts", f"memref<{steps}xi32>")
        self.done = ("%done", f"memref<{slices}xi32>")
        # A row of sums is one for each slice, so that a slice is put as one.
        self.pieces, self.sums = f"memref<?x{self.sizes['width']}xf32>", (self.sums[0], f"!kernel.window<?x{self.sizes['width']}xf32>")

    def write(self):
        added = self.send_kernel() + self.order_kernel() + self.return_kernel() + COLLECT.format(**self.sizes)
        self.split_sums()
        self.split_rows()
        self.replace(self.up, self.preparation() + self.together(self.first_group()))
        self.replace(self.down, "")
        self.replace(self.combine, "")
        self.replace(self.back, f'    %sums_came = kernel.window() on @ep as "sums came" : {self.sums_came[1]}\n' + self.together(self.second_group()))
        self.replace(self.wait, "    " + launch("collect", f" single{self.wait.rest.split(' single')[-1]}", self.sums_came, self.me, self.chunks))
        if self.waits_apart:
            self.text = without(r"kernel\.launch @signal_ranks\(", self.text)
        text = in_kernel(self.down.kernel, self.edit_down, in_kernel(self.up.kernel, self.edit_up, self.text))
        return text[: text.rindex("}")] + added + "}\n"

    # The host program.

    def replace(self, old, new):
        self.text = self.text.replace(line_of(old.pattern, self.text), new, 1)

    def together(self, launches):
        if not self.schedule.joined:
            return "".join("    " + line for line in launches)
        return "    kernel.launch_group {\n" + "".join("      " + line for line in launches) + "    }\n"

    def split_rows(self):
        """The plain launch that sends keeps what goes with the rows: ids and weights."""
        line = line_of(self.send.pattern, self.text)
        companions = int(re.search(r"row_bytes = (\d+)", line)[1]) - 2 * self.sizes["H"]
        self.text = self.text.replace(line, substitute(r"row_bytes = \d+", f"row_bytes = {companions}", line))
        self.text = in_kernel("send_rows", lambda kernel: without(r"kernel\.put %arg4", kernel), self.text)

    def split_sums(self):
        local, window, slices, width = self.combine.operands[3][0], self.sums[0], self.schedule.slices, self.sizes["width"]
        alloc = re.search(rf"{local} = memref\.alloc\((%\w+)\).*\n", self.text)
        self.text = self.text.replace(alloc[0], f"%slices = arith.constant {slices} : index\n    %pieces = arith.muli {alloc[1]}, %slices : index\n"
                                      f"    {local} = memref.alloc(%pieces) : {self.pieces}\n")  # fmt: skip
        all_rows = re.search(rf"{window} = kernel\.window\((%\w+)\)", self.text)[1]
        self.text = substitute(rf"({window} = kernel\.window\()%\w+(\).*: )\S+", rf"\1%pieces\2{self.sums[1]}", self.text)
        part = re.search(rf" *(%\w+) = kernel\.part {window} : .*\n", self.text)
        split = f"memref<?x{slices}x{width}xf32>"
        self.text = self.text.replace(part[0], f"""    %given = kernel.part {window} : {self.sums[1]} -> {self.pieces}
    %split = memref.expand_shape %given [[0, 1], [2]] output_shape [{all_rows}, {slices}, {width}] : {self.pieces} into {split}
    {part[1]} = memref.collapse_shape %split [[0], [1, 2]] : {split} into memref<?x{self.sizes["H"]}xf32>
""")

    def preparation(self):
        work = self.up.rest.split("{")[0]
        return f"""    %chunk = arith.constant {self.schedule.chunk} : index
    %most = arith.constant {FLAGS // (RANKS * self.schedule.slices)} : index
    %one = arith.constant 1 : index
    %almost = arith.subi %chunk, %one : index
    %padded = arith.addi {self.room[0]}, %almost : index
    %chunks = arith.divui %padded, %chunk : index
    %fits = arith.cmpi sle, %chunks, %most : index
    kernel.check %fits, "too many rows for the flags"
    %rows_came = kernel.window() on @ep as "rows came" : {self.rows_came[1]}
    %records = memref.alloc() : {self.records[1]}
    %counts = memref.alloc() : {self.counts[1]}
    %done = memref.alloc() : {self.done[1]}
    """ + launch("order", f" single{work}", self.offsets, self.up.operands[1], self.records, self.counts, self.done, self.room, self.chunks)

    def first_group(self):
        traffic = substitute(r"offsets = \d+ : i64", "offsets = 2 : i64", substitute(r"row_bytes = \d+", f"row_bytes = {2 * self.sizes['H']}", self.send.rest))
        return [launch("send_chunks", traffic, self.x, self.tokens, self.sent_firsts, self.rows, self.rows_came, self.me, self.room, self.chunks),
                launch(self.up.kernel, f" phases({self.sizes['S']}){self.up.rest}", *self.up_operands())]  # fmt: skip

    def second_group(self):
        phases = f" phases({self.schedule.slices})"
        operands = self.return_operands()
        traffic = substitute(r"offsets = \d+ : i64", f"offsets = {operands.index(self.arrived)} : i64", self.back.rest)
        return [launch(self.down.kernel, phases + self.down.rest, *self.down.operands, self.done),
                launch("give_back", phases + (" lag(1)" if self.schedule.joined else "") + traffic, *operands)]  # fmt: skip

    def up_operands(self):
        return [self.rows, *self.up.operands[1:4], self.records, self.counts, self.rows_came, self.me, self.chunks]

    def return_operands(self):
        own = [(value, self.pieces if number == 3 else type) for number, (value, type) in enumerate(self.combine.operands)]
        return [*own, self.sums, self.sums_came, self.down.operands[4], self.done, self.arrived, self.firsts, self.me, self.room, self.chunks]

    # Kernels.

    def send_kernel(self):
        return SEND.format(**self.sizes)

    def order_kernel(self):
        flags = {name: FLAG_OF.format(name=name, row=row) for name, row in (("firstFlag", "from"), ("lastFlag", "until"))}
        return ORDER.format(**flags, **self.sizes)

    def edit_up(self, kernel):
        """Records of a phase, each behind its flags; rows from the window."""
        names = ["rows", "arg1", "arg2", "arg3", "records", "counts", "came", "me", "chunks"]
        kernel = substitute(r"\(.*?\) attributes", f"({parameters(self.up_operands(), names)}) attributes", kernel)
        numbers = {"c3": 3, "c4": 4, "experts": self.sizes["E"]}
        head = "".join(f"    %{name} = arith.constant {number} : index\n" for name, number in numbers.items() if f"%{name} = arith" not in kernel)
        kernel = substitute(r" *%0 = memref\.load %arg5\[%c0\].*\n", head + UP_HEAD.format(**self.sizes), kernel)
        record = re.search(r"scf\.forall \(%arg\d+, %(arg\d+)\)", kernel)[1]
        forall = line_of(r"scf\.forall", kernel)
        kernel = kernel.replace(forall, forall + UP_WAIT.format(k=record, **self.sizes))
        kernel = substitute(rf"%arg4\[%{record}, (%c\d)\] : \S+", rf"%records[%record, \1] : {self.records[1]}", kernel, count=0)
        return substitute(r"%arg0\[", "%own[", kernel, count=0)

    def edit_down(self, kernel):
        """Columns of a slice; each tile is counted."""
        kernel = substitute(r"\) attributes", f", %done: {self.done[1]}) attributes", kernel)
        column = re.search(r"scf\.forall \(%(arg\d+), ", kernel)[1]
        blocks = self.sizes["J"]
        head = rf"\1%phase = kernel.phase : index\n\1%J = arith.constant {blocks} : index\n\1%before = arith.muli %phase, %J : index\n"
        kernel = substitute(r"( *)(scf\.forall \()%arg\d+(, %arg\d+\) in \()\d+", rf"{head}\g<1>\g<2>%j\g<3>{blocks}", kernel)
        forall = line_of(r"scf\.forall", kernel)
        kernel = kernel.replace(forall, forall + f"      %{column} = arith.addi %before, %j : index\n")
        arrive = f"      kernel.arrive %done[%phase] : {self.done[1]}\n"
        return substitute(r"    \} \{kernel\.columns_inside\}", arrive + "    } {kernel.columns_inside}", kernel)

    def return_kernel(self):
        """The plain combine of a row, for the columns of a slice."""
        plain = re.search(rf"^ *kernel\.func @{self.combine.kernel}\(.*?^  \}}\n", self.text, re.DOTALL | re.MULTILINE)[0]
        head, body = re.match(r".*?\{\n(.*?)^    scf\.forall.*?\n(.*?)^    \}\n", plain, re.DOTALL | re.MULTILINE).groups()
        row, strip = re.search(r"scf\.forall \((%arg\d+), (%arg\d+)\)", plain).groups()
        loop, column, first, end = re.search(r"scf\.for (%\w+) = (%\w+) to (%\w+) step", body).group(0, 1, 2, 3)
        bounds = re.compile(rf" *({first}|{end}|%\d+) = arith\.(muli|addi|minsi) .*({strip}|%c512|%c511|{self.sizes['H']})\b.*")
        body = "".join(line for line in body.splitlines(True) if not bounds.match(line) or "arith.constant" in line)
        body = body.replace(loop, f"scf.for {column} = %firstColumn to %endColumn step")
        body = substitute(rf"( *)(memref\.store %\w+, %arg3\[){row}, (%\w+)\] : \S+",
                          rf"\1%column = arith.subi \3, %firstColumn : index\n\1\2%piece, %column] : {self.pieces}", body)  # fmt: skip
        own = parameters(self.return_operands()[: len(self.combine.operands)], [f"arg{i}" for i in range(len(self.combine.operands))])
        return RETURN.format(arguments=own, local="%arg3", constants=without(r"%dim = memref\.dim", head), body=body, row=row, **self.sizes)
