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
