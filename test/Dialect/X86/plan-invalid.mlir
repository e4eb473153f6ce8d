// A plan that was edited by hand.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'block_above' is -1; it must be in 0..1099511627776}}
kernel.func @f() attributes {kernel.plan = #x86.plan<block_above = -1, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>} {
  kernel.return
}

// -----

// expected-error@+1 {{'block_bytes' is 64; it must be in 4096..67108864}}
kernel.func @f() attributes {kernel.plan = #x86.plan<block_above = 0, block_bytes = 64, block_rows = 384, stream_ahead = 0, spread = 4>} {
  kernel.return
}

// -----

// expected-error@+1 {{'block_rows' is 0; it must be in 1..65536}}
kernel.func @f() attributes {kernel.plan = #x86.plan<block_above = 0, block_bytes = 65536, block_rows = 0, stream_ahead = 0, spread = 4>} {
  kernel.return
}

// -----

// expected-error@+1 {{'stream_ahead' is 2097152; it must be in 0..1048576}}
kernel.func @f() attributes {kernel.plan = #x86.plan<block_above = 0, block_bytes = 65536, block_rows = 384, stream_ahead = 2097152, spread = 4>} {
  kernel.return
}

// -----

// expected-error@+1 {{'spread' is 32; it must be in 0..16}}
kernel.func @f() attributes {kernel.plan = #x86.plan<block_above = 0, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 32>} {
  kernel.return
}

// -----

// expected-error@+1 {{'spread' is 6; it must be a power of two, or 0}}
kernel.func @f() attributes {kernel.plan = #x86.plan<block_above = 0, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 6>} {
  kernel.return
}
