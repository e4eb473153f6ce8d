"""The two kernels of an overlapped exchange, written by hand: rows travel while the first product runs, and sums while the second one does.

`overlapped` puts them into the text of a plain program of two ranks at level kernel, in the place of its launches that send, multiply and return. Products
and sums are the plain program's own, line by line, but for where a block's work begins and ends, its waits and its signals."""

import re
from dataclasses import dataclass

from edited import in_kernel, line_of, substitute, without

RANKS = 2
FLAGS = 1024


@dataclass(frozen=True)
class Schedule:
    """`steps`: in which phase of the first product the rows of how many ranks are taken, (2,) or (1, 1); `chunk`: rows of a flag; `slices`: phases of the
    second product. `joined`: without it the launches stand one after the other."""

    steps: tuple = (1, 1)
    chunk: int = 4
    slices: int = 2
    joined: bool = True


SEND = """
  // Chunk by chunk, the next rank first. A chunk without rows is signalled too.
  kernel.func @send_chunks(%x: memref<?x{H}xbf16>, %tokens: memref<?xi32>, %firsts: memref<3xi32>, %rows: !kernel.window<?x{H}xbf16>,
                    %came: !kernel.window<{FLAGS}xi32>, %me: index, %room: index, %chunks: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %chunk = arith.constant {chunk} : index
    %epoch = kernel.epoch %came : !kernel.window<{FLAGS}xi32> -> i32
    scf.forall (%d, %c) in (2, %chunks) {{
      %behind = arith.addi %d, %c1 : index
      %distance = arith.remui %behind, %c2 : index
      %place = arith.addi %me, %distance : index
      %peer = arith.remui %place, %c2 : index
      %next = arith.addi %peer, %c1 : index
      %first = memref.load %firsts[%peer] : memref<3xi32>
      %end = memref.load %firsts[%next] : memref<3xi32>
      %firstRow = arith.index_cast %first : i32 to index
      %endRow = arith.index_cast %end : i32 to index
      %count = arith.subi %endRow, %firstRow : index
      %begin = arith.muli %c, %chunk : index
      %full = arith.addi %begin, %chunk : index
      %stop = arith.minsi %full, %count : index
      %slot = arith.muli %distance, %room : index
      scf.for %i = %begin to %stop step %c1 {{
        %row = arith.addi %firstRow, %i : index
        %token = memref.load %tokens[%row] : memref<?xi32>
        %t = arith.index_cast %token : i32 to index
        %to = arith.addi %slot, %i : index
        kernel.put %x[%t], %rows[%peer][%to] : memref<?x{H}xbf16>, !kernel.window<?x{H}xbf16>
      }}
      %flags = arith.muli %distance, %chunks : index
      %flag = arith.addi %flags, %c : index
      kernel.signal %came[%peer][%flag], %epoch : !kernel.window<{FLAGS}xi32>
    }}
    kernel.return
  }}
"""

ORDER = """
  // Records of the rows of an expert that are taken in one phase: [expert, first, rows, first flag, flags], those of phase s from s * {E} on. Rows of a rank
  // fill whole tiles before its last one; the others wait for the next phase, so that there are as many tiles as in one phase.
  kernel.func @order(%offsets: memref<{E1}xi32>, %rowOf: memref<?xi32>, %records: memref<{R}x5xi32>, %counts: memref<{S}xi32>, %done: memref<{slices}xi32>,
                     %room: index, %chunks: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %tile = arith.constant 6 : index
    %experts = arith.constant {E} : index
    %phases = arith.constant {S} : index
    %last = arith.constant {last} : index
    %slices = arith.constant {slices} : index
    %chunk = arith.constant {chunk} : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    scf.for %s = %c0 to %slices step %c1 {{
      memref.store %zero, %done[%s] : memref<{slices}xi32>
    }}
    scf.for %s = %c0 to %phases step %c1 {{
      memref.store %zero, %counts[%s] : memref<{S}xi32>
    }}
    scf.for %e = %c0 to %experts step %c1 {{
      %after = arith.addi %e, %c1 : index
      %firstRow = memref.load %offsets[%e] : memref<{E1}xi32>
      %endRow = memref.load %offsets[%after] : memref<{E1}xi32>
      %first = arith.index_cast %firstRow : i32 to index
      %end = arith.index_cast %endRow : i32 to index
      %own = scf.for %i = %first to %end step %c1 iter_args(%before = %c0) -> (index) {{
        %q = memref.load %rowOf[%i] : memref<?xi32>
        %row = arith.index_cast %q : i32 to index
        %isOwn = arith.cmpi slt, %row, %room : index
        %more = arith.extui %isOwn : i1 to i32
        %number = arith.index_cast %more : i32 to index
        %sum = arith.addi %before, %number : index
        scf.yield %sum : index
      }}
      %all = arith.subi %end, %first : index
      %tiles = arith.divui %own, %tile : index
      %whole = arith.muli %tiles, %tile : index
      %isAll = arith.cmpi eq, %own, %all : index
      %taken = arith.select %isAll, %all, %whole : index
      %isOne = arith.cmpi eq, %last, %c0 : index
      %early = arith.select %isOne, %c0, %taken : index
      %cut = arith.addi %first, %early : index
      scf.for %s = %c0 to %c2 step %c1 {{
        %isFirst = arith.cmpi eq, %s, %c0 : index
        %from = arith.select %isFirst, %first, %cut : index
        %to = arith.select %isFirst, %cut, %end : index
        %exists = arith.cmpi slt, %from, %to : index
        scf.if %exists {{
          %phase = arith.select %isFirst, %c0, %last : index
          %count = memref.load %counts[%phase] : memref<{S}xi32>
          %next = arith.addi %count, %one : i32
          memref.store %next, %counts[%phase] : memref<{S}xi32>
          %base = arith.muli %phase, %experts : index
          %number = arith.index_cast %count : i32 to index
          %record = arith.addi %base, %number : index
          %until = arith.subi %to, %c1 : index
          %firstFlag = func.call @flag(%rowOf, %from, %room, %chunks) : (memref<?xi32>, index, index, index) -> index
          %lastFlag = func.call @flag(%rowOf, %until, %room, %chunks) : (memref<?xi32>, index, index, index) -> index
          %distance = arith.subi %lastFlag, %firstFlag : index
          %flags = arith.addi %distance, %c1 : index
          %rows = arith.subi %to, %from : index
          %f0 = arith.index_cast %e : index to i32
          %f1 = arith.index_cast %from : index to i32
          %f2 = arith.index_cast %rows : index to i32
          %f3 = arith.index_cast %firstFlag : index to i32
          %f4 = arith.index_cast %flags : index to i32
          memref.store %f0, %records[%record, %c0] : memref<{R}x5xi32>
          memref.store %f1, %records[%record, %c1] : memref<{R}x5xi32>
          memref.store %f2, %records[%record, %c2] : memref<{R}x5xi32>
          memref.store %f3, %records[%record, %c3] : memref<{R}x5xi32>
          memref.store %f4, %records[%record, %c4] : memref<{R}x5xi32>
        }}
      }}
    }}
    kernel.return
  }}
"""
FLAG = re.compile(r"( *)%(\w+) = func\.call @flag\(%rowOf, %(\w+), %room, %chunks\).*\n")
FLAG_OF = """{0}%{1}Q = memref.load %rowOf[%{2}] : memref<?xi32>
{0}%{1}Row = arith.index_cast %{1}Q : i32 to index
{0}%{1}Source = arith.divui %{1}Row, %room : index
{0}%{1}Within = arith.remui %{1}Row, %room : index
{0}%{1}Chunk = arith.divui %{1}Within, %chunk : index
{0}%{1}First = arith.muli %{1}Source, %chunks : index
{0}%{1} = arith.addi %{1}First, %{1}Chunk : index
"""

# Where a block's work begins, in place of the first product's own lines.
UP_HEAD = """    %phase = kernel.phase : index
    %me0 = arith.index_cast %me : index to i32
    %epoch = kernel.epoch %came : !kernel.window<{FLAGS}xi32> -> i32
    %own = kernel.part %rows : !kernel.window<?x{H}xbf16> -> memref<?x{H}xbf16>
    %firstRecord = arith.muli %phase, %experts : index
    %0 = memref.load %counts[%phase] : memref<{S}xi32>
"""
UP_WAIT = """      %record = arith.addi %firstRecord, %{k} : index
      %firstFlag0 = memref.load %records[%record, %c3] : memref<{R}x5xi32>
      %flags0 = memref.load %records[%record, %c4] : memref<{R}x5xi32>
      %firstFlag = arith.index_cast %firstFlag0 : i32 to index
      %flags = arith.index_cast %flags0 : i32 to index
      %endFlag = arith.addi %firstFlag, %flags : index
      scf.for %flag = %firstFlag to %endFlag step %c1 {{
        %distance = arith.divui %flag, %chunks : index
        %place = arith.addi %me, %distance : index
        %peer = arith.remui %place, %c2 : index
        kernel.await %came[%flag] reach %epoch from %peer : !kernel.window<{FLAGS}xi32>
      }}
"""

RETURN = """
  // Sums of a slice of columns go to their ranks as soon as all its tiles are done, others before the own ones. A row is one for each slice.
  kernel.func @give_back({arguments}, %sums: !kernel.window<?x{width}xf32>, %returned: !kernel.window<{FLAGS}xi32>,
                      %tiles: memref<1xi32>, %done: memref<{slices}xi32>, %arrived: memref<3xi32>, %firsts: memref<2xi32>, %me: index, %room: index,
                      %chunks: index) {{
{constants}
    %phase = kernel.phase : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %slices = arith.constant {slices} : index
    %chunk = arith.constant {chunk} : index
    %width = arith.constant {width} : index
    %blocks = arith.constant {J} : index
    %epoch = kernel.epoch %returned : !kernel.window<{FLAGS}xi32> -> i32
    %count0 = memref.load %tiles[%c0] : memref<1xi32>
    %count1 = arith.index_cast %count0 : i32 to index
    %allTiles = arith.muli %count1, %blocks : index
    %firstColumn = arith.muli %phase, %width : index
    %endColumn = arith.addi %firstColumn, %width : index
    scf.forall (%d, %c) in (2, %chunks) {{
      kernel.await_arrivals %done[%phase] reach %allTiles : memref<{slices}xi32>
      %behind = arith.addi %d, %one : index
      %distance = arith.remui %behind, %two : index
      %place = arith.addi %me, %distance : index
      %peer = arith.remui %place, %two : index
      %next = arith.addi %peer, %one : index
      %a0 = memref.load %arrived[%peer] : memref<3xi32>
      %a1 = memref.load %arrived[%next] : memref<3xi32>
      %a2 = arith.subi %a1, %a0 : i32
      %rowCount = arith.index_cast %a2 : i32 to index
      %begin = arith.muli %c, %chunk : index
      %full = arith.addi %begin, %chunk : index
      %stop = arith.minsi %full, %rowCount : index
      %slot = arith.muli %distance, %room : index
      %to0 = memref.load %firsts[%peer] : memref<2xi32>
      %to1 = arith.index_cast %to0 : i32 to index
      scf.for %i = %begin to %stop step %one {{
        {row} = arith.addi %slot, %i : index
        %to = arith.addi %to1, %i : index
        %piece0 = arith.muli {row}, %slices : index
        %piece = arith.addi %piece0, %phase : index
        %place0 = arith.muli %to, %slices : index
        %place1 = arith.addi %place0, %phase : index
{body}
        kernel.put {local}[%piece], %sums[%peer][%place1] : memref<?x{width}xf32>, !kernel.window<?x{width}xf32>
      }}
      %back = arith.subi %two, %distance : index
      %seen = arith.remui %back, %two : index
      %f0 = arith.muli %seen, %slices : index
      %f1 = arith.addi %f0, %phase : index
      %f2 = arith.muli %f1, %chunks : index
      %flag = arith.addi %f2, %c : index
      kernel.signal %returned[%peer][%flag], %epoch : !kernel.window<{FLAGS}xi32>
    }}
    kernel.return
  }}
"""

COLLECT = """
  // All that returns, also for chunks without rows: who begins the next exchange knows that its rows were read.
  kernel.func @collect(%returned: !kernel.window<{FLAGS}xi32>, %me: index, %chunks: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %slices = arith.constant {slices} : index
    %each = arith.muli %slices, %chunks : index
    %all = arith.muli %each, %c2 : index
    %epoch = kernel.epoch %returned : !kernel.window<{FLAGS}xi32> -> i32
    scf.for %flag = %c0 to %all step %c1 {{
      %distance = arith.divui %flag, %each : index
      %place = arith.addi %me, %distance : index
      %peer = arith.remui %place, %c2 : index
      kernel.await %returned[%flag] reach %epoch from %peer : !kernel.window<{FLAGS}xi32>
    }}
    kernel.return
  }}
"""


def operands(line):
    """(kernel, operands, their types, the rest of the line before the types) of a launch."""
    kernel, values, rest, types = re.fullmatch(r" *kernel\.launch @(\w+)\(([^)]*)\)(.*) : (.*)\n", line).groups()
    depth, fields = 0, [""]
    for character in types:
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += character
    return kernel, values.split(", "), [field.strip() for field in fields], rest


def launch(kernel, rest, *arguments):
    return f"kernel.launch @{kernel}({', '.join(v for v, _ in arguments)}){rest} : {', '.join(t for _, t in arguments)}\n"


def kernel_text(name, text):
    found = re.search(rf"^ *kernel\.func @{name}\(.*?^  \}}\n", text, re.DOTALL | re.MULTILINE)
    return found[0]


def split_send(text):
    """The launch that sends keeps what goes with the rows: ids and weights."""
    text = in_kernel("send_rows", lambda k: without(r"kernel\.put %arg4", k), text)
    return text


def overlapped(text, schedule):
    """The plain program's text with this schedule."""
    up = operands(line_of(r"kernel\.launch @experts_up_\w+\(", text))
    down = operands(line_of(r"kernel\.launch @experts_down_\w+\(", text))
    combine = operands(line_of(r"kernel\.launch @combine_\w+_f32_\w+\(", text))
    send = operands(line_of(r"kernel\.launch @send_rows\(", text))
    back = operands(line_of(r"kernel\.launch @send_sums\(", text))
    layouts = re.findall(r"^ *kernel\.launch @layout_\d+\(.*\n", text, re.MULTILINE)
    here = operands(layouts[1])
    offsets = (here[1][1], here[2][1])
    experts = int(re.search(r"memref<(\d+)xi32>", offsets[1])[1]) - 1
    hidden = int(re.search(r"\?x(\d+)xbf16", up[2][0])[1])
    columns = int(re.search(r"memref<\d+x(\d+)x", down[2][1])[1])
    assert columns % schedule.slices == 0
    sizes = {"H": hidden, "E": experts, "E1": experts + 1, "S": len(schedule.steps), "R": experts * len(schedule.steps), "FLAGS": FLAGS,
             "last": len(schedule.steps) - 1, "chunk": schedule.chunk, "slices": schedule.slices, "J": columns // schedule.slices,
             "width": hidden // schedule.slices}  # fmt: skip

    # What the launches take.
    me, room = (back[1][2], "index"), (back[1][3], "index")
    rows = (send[1][5], send[2][5])
    tokens, firsts_sent, x = (send[1][3], send[2][3]), (send[1][2], send[2][2]), (send[1][4], send[2][4])
    assert re.fullmatch(r"memref<\?x\d+xbf16>", x[1]) and rows[1].startswith("!kernel.window"), send
    arrived, firsts = (back[1][4], back[2][4]), (back[1][5], back[2][5])
    flags = f"!kernel.window<{FLAGS}xi32>"
    named = {name: (f"%{name}", type) for name, type in {
        "rows_came": flags, "sums_came": flags, "chunks": "index", "records": f"memref<{sizes['R']}x5xi32>", "counts": f"memref<{sizes['S']}xi32>",
        "done": f"memref<{sizes['slices']}xi32>"}.items()}  # fmt: skip
    row_of, weights_up, hidden_rows = ((up[1][i], up[2][i]) for i in (1, 2, 3))
    tiles = (down[1][4], down[2][4])

    work = up[3].split("{")[0]
    order = f"""    %chunk = arith.constant {schedule.chunk} : index
    %most = arith.constant {FLAGS // (RANKS * schedule.slices)} : index
    %one = arith.constant 1 : index
    %almost = arith.subi %chunk, %one : index
    %padded = arith.addi {room[0]}, %almost : index
    %chunks = arith.divui %padded, %chunk : index
    %fits = arith.cmpi sle, %chunks, %most : index
    kernel.check %fits, "too many rows for the flags"
    %rows_came = kernel.window() on @ep as "rows came" : {flags}
    %records = memref.alloc() : memref<{sizes["R"]}x5xi32>
    %counts = memref.alloc() : memref<{sizes["S"]}xi32>
    %done = memref.alloc() : memref<{sizes["slices"]}xi32>
    """ + launch("order", f" single{work}", offsets, row_of, *(named[n] for n in ("records", "counts", "done")), room, named["chunks"])
    sent = substitute(r"offsets = \d+ : i64", "offsets = 2 : i64", substitute(r"row_bytes = \d+", f"row_bytes = {2 * hidden}", send[3]))
    first = [launch("send_chunks", sent, x, tokens, firsts_sent, rows, named["rows_came"], me, room, named["chunks"]),
             launch(up[0], f" phases({sizes['S']}){up[3]}", rows, row_of, weights_up, hidden_rows, named["records"], named["counts"], named["rows_came"], me,
                    named["chunks"])]  # fmt: skip
    pieces, window = f"memref<?x{sizes['width']}xf32>", f"!kernel.window<?x{sizes['width']}xf32>"
    arguments = [(v, pieces if i == 3 else t) for i, (v, t) in enumerate(zip(combine[1], combine[2]))]
    lag = " lag(1)" if schedule.joined else ""
    returned = substitute(r"offsets = \d+ : i64", f"offsets = {len(arguments) + 4} : i64", back[3])
    second = [launch(down[0], f" phases({sizes['slices']}){down[3]}", *zip(down[1], down[2]), named["done"]),
              launch("give_back", f" phases({sizes['slices']}){lag}{returned}", *arguments, (back[1][1], window), named["sums_came"], tiles, named["done"], arrived, firsts, me, room,
                     named["chunks"])]  # fmt: skip

    def together(launches):
        if not schedule.joined:
            return "".join("    " + line for line in launches)
        return "    kernel.launch_group {\n" + "".join("      " + line for line in launches) + "    }\n"

    waits = f'    %sums_came = kernel.window() on @ep as "sums came" : {flags}\n'
    # One launch raises the flags of the way back and waits for them, or one each.
    waits_apart = "kernel.launch @await_ranks(" in text
    last = "await_ranks" if waits_apart else "meet_ranks"
    meet = operands(line_of(rf"kernel\.launch @{last}\(", text))
    collect = "    " + launch("collect", f" single{meet[3].split(' single')[-1]}", named["sums_came"], me, named["chunks"])
    replaced = {r"kernel\.launch @experts_up_\w+\(": order + together(first), r"kernel\.launch @experts_down_\w+\(": "",
                r"kernel\.launch @combine_\w+_f32_\w+\(": "", r"kernel\.launch @send_sums\(": waits + together(second),
                rf"kernel\.launch @{last}\(": collect, **({r"kernel\.launch @signal_ranks\(": ""} if waits_apart else {})}  # fmt: skip
    traffic = line_of(r"kernel\.launch @send_rows\(", text)
    companions = int(re.search(r"row_bytes = (\d+)", traffic)[1]) - 2 * hidden
    text = text.replace(traffic, substitute(r"row_bytes = \d+", f"row_bytes = {companions}", traffic))
    # A row of sums is one for each slice, so that a slice is put as one.
    local, all_rows = re.search(rf"{combine[1][3]} = memref\.alloc\((%\w+)\).*\n", text), re.search(rf"{back[1][1]} = kernel\.window\((%\w+)\)", text)[1]
    text = text.replace(local[0], f"%slices = arith.constant {schedule.slices} : index\n    %pieces = arith.muli {local[1]}, %slices : index\n"
                        f"    {combine[1][3]} = memref.alloc(%pieces) : {pieces}\n")
    text = substitute(rf"({back[1][1]} = kernel\.window\()%\w+(\).*: )\S+", rf"\1%pieces\2{window}", text)
    part = re.search(rf" *(%\w+) = kernel\.part {back[1][1]} : .*\n", text)
    text = text.replace(part[0], f"""    %given = kernel.part {back[1][1]} : {window} -> {pieces}
    %split = memref.expand_shape %given [[0, 1], [2]] output_shape [{all_rows}, {schedule.slices}, {sizes["width"]}] : {pieces} into memref<?x{schedule.slices}x{sizes["width"]}xf32>
    {part[1]} = memref.collapse_shape %split [[0], [1, 2]] : memref<?x{schedule.slices}x{sizes["width"]}xf32> into memref<?x{hidden}xf32>
""")
    for pattern, new in replaced.items():
        text = text.replace(line_of(pattern, text), new, 1)
    text = split_send(text)

    # The products: the same lines with other bounds.
    def edit_up(kernel):
        kernel = substitute(r"\(.*?\) attributes", f"(%rows: {rows[1]}, %arg1: {row_of[1]}, %arg2: {weights_up[1]}, %arg3: {hidden_rows[1]}, "
                            f"%records: {named['records'][1]}, %counts: {named['counts'][1]}, %came: {flags}, %me: index, %chunks: index) attributes", kernel)
        head = UP_HEAD.format(**sizes).replace("    %me0 = arith.index_cast %me : index to i32\n", "")
        constants = "".join(f"    %{n} = arith.constant {v} : index\n" for n, v in (("c3", 3), ("c4", 4), ("experts", experts)) if f"%{n} = arith" not in kernel)
        kernel = substitute(r" *%0 = memref\.load %arg5\[%c0\].*\n", constants + head, kernel)
        k = re.search(r"scf\.forall \(%arg\d+, %(arg\d+)\)", kernel)[1]
        forall = line_of(r"scf\.forall", kernel)
        kernel = kernel.replace(forall, forall + UP_WAIT.format(k=k, **sizes))
        kernel = substitute(rf"%arg4\[%{k}, (%c\d)\] : \S+", rf"%records[%record, \1] : {named['records'][1]}", kernel, count=0)
        return substitute(r"%arg0\[", "%own[", kernel, count=0)

    def edit_down(kernel):
        kernel = substitute(r"\) attributes", f", %done: {named['done'][1]}) attributes", kernel)
        n = re.search(r"scf\.forall \(%(arg\d+), ", kernel)[1]
        kernel = substitute(r"( *)(scf\.forall \()%arg\d+(, %arg\d+\) in \()\d+", r"\1%phase = kernel.phase : index\n"
                            rf"\1%J = arith.constant {sizes['J']} : index\n\1%before = arith.muli %phase, %J : index\n\g<1>\g<2>%j\g<3>{sizes['J']}", kernel)
        forall = line_of(r"scf\.forall", kernel)
        kernel = kernel.replace(forall, forall + f"      %{n} = arith.addi %before, %j : index\n")
        return substitute(r"    \} \{kernel\.columns_inside\}", f"      kernel.arrive %done[%phase] : {named['done'][1]}\n    }} {{kernel.columns_inside}}", kernel)

    text = in_kernel(up[0], edit_up, text)
    text = in_kernel(down[0], edit_down, text)

    # Sums of the rows that go back: the plain combine of a row, stored to its rank.
    plain = kernel_text(combine[0], text)
    head, body = re.match(r".*?\{\n(.*?)^    scf\.forall.*?\n(.*?)^    \}\n", plain, re.DOTALL | re.MULTILINE).groups()
    row = re.search(r"scf\.forall \((%arg\d+), (%arg\d+)\)", plain)
    loop = re.search(r"scf\.for (%\w+) = (%\w+) to (%\w+) step", body)
    body = "".join(line for line in body.splitlines(True) if not re.match(rf" *({loop[2]}|{loop[3]}|%\d+) = arith\.(muli|addi|minsi) .*({row[2]}|%c512|%c511|{hidden})\b.*", line)
                   or "arith.constant" in line)  # fmt: skip
    body = body.replace(loop[0], f"scf.for {loop[1]} = %firstColumn to %endColumn step")
    pieces = f"memref<?x{sizes['width']}xf32>"
    body = substitute(rf"( *)(memref\.store %\w+, %arg3\[){row[1]}, (%\w+)\] : \S+", rf"\1%column = arith.subi \3, %firstColumn : index\n\1\2%piece, %column] : {pieces}", body)
    head = without(r"%dim = memref\.dim", head)
    named_arguments = ", ".join(f"%arg{i}: {pieces if i == 3 else t}" for i, t in enumerate(combine[2]))
    sends = SEND.format(**sizes)
    orders = FLAG.sub(lambda m: FLAG_OF.format(*m.groups()), ORDER.format(**sizes))
    returns = RETURN.format(arguments=named_arguments, local="%arg3", constants=head, body=body, row=row[1], **sizes)
    added = sends + orders + returns + COLLECT.format(**sizes)
    return text[: text.rindex("}")] + added + "}\n"
