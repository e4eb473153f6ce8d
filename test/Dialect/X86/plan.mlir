// A plan round-trips: the example of its description.
// RUN: moe-opt %s | moe-opt | FileCheck %s

// CHECK: kernel.func @nothing() attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>}
kernel.func @nothing() attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384, stream_ahead = 0, spread = 4>} {
  kernel.return
}
