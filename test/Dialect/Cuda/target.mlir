// The attribute round-trips: the example of its description.
// RUN: moe-opt %s | moe-opt | FileCheck %s

// CHECK: kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = approximate>
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64,
                                                activation = approximate>} {}
