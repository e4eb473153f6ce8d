// A plan round-trips: the example of its description.
// RUN: moe-opt %s | moe-opt | FileCheck %s

// CHECK: kernel.func @nothing() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag, proxy_fence = shared, load_registers = 56, multiply_registers = 224, few_steps = 1, few_columns = 128>}
kernel.func @nothing() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag,
                                                            proxy_fence = shared, load_registers = 56,
                                                            multiply_registers = 224, few_steps = 1, few_columns = 128>} {
  kernel.return
}

// CHECK: kernel.func @rows() attributes {kernel.plan = #cuda.row_plan<threads = 256, blocks_per_sm = 4>}
kernel.func @rows() attributes {kernel.plan = #cuda.row_plan<threads = 256, blocks_per_sm = 4>} {
  kernel.return
}
