// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a plain schedule has no numbers}}
#plain = #moe.schedule<plain, chunk = 4, steps = [2], slices = 1>

// -----

// expected-error@+1 {{an overlap needs chunk from 1 to 1048576, got 0}}
#no_numbers = #moe.schedule<overlap>

// -----

// expected-error@+1 {{an overlap needs chunk from 1 to 1048576, got -8}}
#no_chunk = #moe.schedule<overlap, chunk = -8, steps = [1, 1], slices = 1>

// -----

// expected-error@+1 {{an overlap needs slices from 1 to 1048576, got 2000000}}
#slices = #moe.schedule<overlap, chunk = 8, steps = [1, 1], slices = 2000000>

// -----

// expected-error@+1 {{an overlap needs steps, the number of ranks in each of them at least 1}}
#empty_step = #moe.schedule<overlap, chunk = 8, steps = [2, 0], slices = 2>

// -----

// expected-error@+1 {{'order' stands twice}}
#twice = #moe.schedule<overlap, order = part, order = source, chunk = 8, steps = [2], slices = 2>

// -----

// expected-error@+1 {{unknown order 'rank'; one of source, part}}
#order = #moe.schedule<overlap, chunk = 8, order = rank, steps = [2], slices = 2>

// -----

// expected-error@+1 {{a schedule has no 'blocks'; these are chunk, order, steps, piece, send, slices, return}}
#blocks = #moe.schedule<overlap, chunk = 8, steps = [2], blocks = 3, slices = 2>

// -----

// expected-error@+1 {{'piece' is a number from 1 on; leave it out}}
#no_piece = #moe.schedule<overlap, chunk = 8, steps = [2], piece = 0, slices = 2>

// -----

// expected-error@+1 {{an overlap needs piece from 1 to 1048576, got -6}}
#piece = #moe.schedule<overlap, chunk = 8, steps = [2], piece = -6, slices = 2>

// -----

// expected-error@+1 {{an overlap needs send from 1 to 1048576, got -1}}
#send = #moe.schedule<overlap, chunk = 8, steps = [2], send = -1, slices = 2>

// -----

// expected-error@+1 {{an overlap needs return from 1 to 1048576, got 1048577}}
#return = #moe.schedule<overlap, chunk = 8, steps = [2], slices = 2, return = 1048577>

// -----

// expected-error@+1 {{a schedule needs parts from 1 to 256, got 0}}
#no_parts = #moe.schedule<parts = 0>

// -----

// expected-error@+1 {{a schedule needs parts from 1 to 256, got 257}}
#parts = #moe.schedule<parts = 257>

// -----

// expected-error@+1 {{a schedule in parts has no number but theirs}}
#parts_and = #moe.schedule<parts = 4, chunk = 8>

// -----

// expected-error@+1 {{unknown schedule 'nested'; one of plain, parts = N, overlap, ..}}
#kind = #moe.schedule<nested>
