"""Kernels of an overlapped exchange between two ranks, written by hand, with places for sizes (overlap.py)."""

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
{firstFlag}{lastFlag}          %distance = arith.subi %lastFlag, %firstFlag : index
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
# The flag of a row that came: its source's distance, and the chunk.
FLAG_OF = """\
          %{name}Q = memref.load %rowOf[%{row}] : memref<?xi32>
          %{name}Row = arith.index_cast %{name}Q : i32 to index
          %{name}Source = arith.divui %{name}Row, %room : index
          %{name}Within = arith.remui %{name}Row, %room : index
          %{name}Chunk = arith.divui %{name}Within, %chunk : index
          %{name}First = arith.muli %{name}Source, %chunks : index
          %{name} = arith.addi %{name}First, %{name}Chunk : index
"""

# Where a block's work begins, in place of the first product's own lines.
UP_HEAD = """    %phase = kernel.phase : index
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
