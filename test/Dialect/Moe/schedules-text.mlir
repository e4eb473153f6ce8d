// What is said is printed, in one order; what is not said stays away.
// RUN: moe-opt %s | FileCheck %s
// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s -emit-bytecode | moe-opt | FileCheck %s

// CHECK: @plain() attributes {s = #moe.schedule<plain>}
func.func private @plain() attributes {s = #moe.schedule<plain>}
// CHECK: @short() attributes {s = #moe.schedule<overlap, chunk = 8, steps = [1, 1], slices = 4>}
func.func private @short() attributes {s = #moe.schedule<overlap, chunk = 8, order = source, steps = [1, 1], slices = 4>}
// CHECK: @all() attributes {s = #moe.schedule<overlap, chunk = 128, order = part, steps = [1, 3, 4], piece = 256, send = 12, slices = 8, return = 20>}
func.func private @all() attributes {
  s = #moe.schedule<overlap, return = 20, slices = 8, send = 12, piece = 256, steps = [1, 3, 4], order = part, chunk = 128>
}
// CHECK: @parts() attributes {s = #moe.schedule<parts = 4>}
func.func private @parts() attributes {s = #moe.schedule<parts = 4>}
