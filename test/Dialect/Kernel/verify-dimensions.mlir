// Sizes of dimensions that a buffer has, and numbers that are not known yet, are left as they are.
// RUN: moe-opt %s -o %t.same && moe-opt %s --pass-pipeline="builtin.module(func.func(kernel-verify-dimensions))" | diff %t.same -
// RUN: sed 's/%c1 : memref/%c2 : memref/' %s | not moe-opt --pass-pipeline="builtin.module(func.func(kernel-verify-dimensions))" 2>&1 | FileCheck %s
// CHECK: 'memref.dim' op asks for the size of dimension 2 of a buffer that has 2; they count from 0

func.func @sizes(%x: memref<?x?xf32>, %i: index) -> (index, index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %m = memref.dim %x, %i : memref<?x?xf32>
  return %n, %m : index, index
}
