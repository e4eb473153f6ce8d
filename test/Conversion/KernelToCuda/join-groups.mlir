// A group is a launch of one kernel, whose blocks are divided among the members.
// RUN: moe-opt %s --kernel-join-groups | FileCheck %s
// A second run finds nothing to do.
// RUN: moe-opt %s --kernel-join-groups -o %t && moe-opt --kernel-join-groups %t | diff %t -
// A CPU runs groups as they are.
// RUN: sed 's/ attributes {kernel.target = [^{]*>}//' %s | moe-opt --kernel-join-groups | FileCheck %s --check-prefix=CPU
// CPU: kernel.launch_group
// It is a launch as any other, and one text.
// RUN: sed -E 's/ \{moe\.phase = [^:]*(: i64\}\})?[^}:]*\}? :/ :/' %s | moe-opt --kernel-to-runtime | FileCheck %s --check-prefix=RUNTIME
// RUNTIME-NOT: emitc.func @square{{.*}}_of_
// RUNTIME:     emitc.func @square_with_sum(
// RUNTIME:       call_opaque "moe::countArrival"(
// RUNTIME:       call_opaque "moe::awaitArrivals"(%{{[0-9]+}}, %{{[0-9]+}}) :
// RUNTIME-NOT: emitc.func @sum
// RUNTIME:     %[[BLOCKS:.*]] = llvm.mlir.constant(19 : i64) : i64
// RUNTIME:     moert.launch %{{.*}}, @square_with_sum({{.*}}) blocks(%[[BLOCKS]])
// Without the braces, phases are a loop too.
// RUN: sed -e '/launch_group/d' -e '/^    }  *.. of the group/d' -e 's/ lag(1)//' %s | moe-opt --kernel-join-groups | FileCheck %s --check-prefix=ALONE
// ALONE-NOT: cuda.member
// ALONE:     kernel.launch @square_of_2(%{{.*}}) rows(
// ALONE:     kernel.launch @sum_of_2(%{{.*}}) blocks(3) rows(

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @clear(%done: memref<2xi32>) {
    %zero = arith.constant 0 : i32
    scf.forall (%i) in (2) {
      memref.store %zero, %done[%i] : memref<2xi32>
    }
    kernel.return
  }

// What stands behind the phase's number is in the loop; the kernel itself is gone.
// CHECK-NOT:   kernel.func @square(
// CHECK-LABEL: kernel.func @square_of_2(
// CHECK:         %[[C16:.*]] = arith.constant 16 : index
// CHECK:         scf.for %[[PHASE:.*]] = %c0 to %c2 step %c1 {
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %[[PHASE]], %[[C16]]
// CHECK-NEXT:      scf.forall (%{{.*}}) in (16) {
// CHECK:             kernel.arrive %{{.*}}[%[[PHASE]]]
// CHECK:         } {unroll = 1 : i64}
// CHECK-NEXT:    kernel.return
  kernel.func @square(%x: memref<32xf32>, %y: memref<32xf32>, %done: memref<2xi32>) {
    %c16 = arith.constant 16 : index
    %phase = kernel.phase : index
    %first = arith.muli %phase, %c16 : index
    scf.forall (%i) in (16) {
      %at = arith.addi %first, %i : index
      %v = memref.load %x[%at] : memref<32xf32>
      %square = arith.mulf %v, %v : f32
      memref.store %square, %y[%at] : memref<32xf32>
      kernel.arrive %done[%phase] : memref<2xi32>
    }
    kernel.return
  }
// CHECK-LABEL: kernel.func @sum_of_2(
  kernel.func @sum(%y: memref<32xf32>, %done: memref<2xi32>, %sums: memref<2xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %phase = kernel.phase : index
    scf.forall (%once) in (1) {
      kernel.await_arrivals %done[%phase] reach %c16 : memref<2xi32>
      %first = arith.muli %phase, %c16 : index
      %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%before = %zero) -> (f32) {
        %at = arith.addi %first, %i : index
        %v = memref.load %y[%at] : memref<32xf32>
        %next = arith.addf %before, %v : f32
        scf.yield %next : f32
      }
      memref.store %sum, %sums[%phase] : memref<2xf32>
    }
    kernel.return
  }

// Without products, an eighth of the 132 multiprocessors where nobody says how many. Two layers have one kernel.
// CHECK-LABEL: kernel.func @square_with_sum(
// CHECK-NEXT:    cuda.member @square_of_2(%arg0, %arg1, %arg2) blocks(16) : memref<32xf32>, memref<32xf32>, memref<2xi32>
// CHECK-NEXT:    cuda.member @sum_of_2(%arg3, %arg4, %arg5) blocks(3) : memref<32xf32>, memref<2xi32>, memref<2xf32>
// CHECK-NEXT:    kernel.return

// The device that runs it may have fewer multiprocessors than that of the target. What is told of a launch counts the operands of all; work is
// the sum of both.
// CHECK-LABEL: func.func @main(
// CHECK:         %[[LEAST:.*]] = arith.constant 19 : index
// CHECK-NEXT:    %[[HAVE:.*]] = kernel.blocks
// CHECK-NEXT:    %[[ENOUGH:.*]] = arith.cmpi sge, %[[HAVE]], %[[LEAST]] : index
// CHECK-NEXT:    kernel.check %[[ENOUGH]], "launches at the same time need {0} multiprocessors, one for each block, and the device has {1}; compile for it, or give them fewer blocks"(%[[LEAST]], %[[HAVE]])
// CHECK:         %[[WORK:.*]] = arith.addi %c32, %c32
// CHECK:         kernel.launch @square_with_sum(%arg0, %arg1, %[[DONE:.*]], %arg1, %[[DONE]], %arg2) blocks(19) rows(%c32) work(%[[WORK]]) {moe.phase = "sums", moe.traffic = {grid = @ep, offsets = 4 : i64}}
// CHECK:         kernel.launch @clear
// CHECK:         kernel.launch @square_with_sum(
  func.func @main(%x: memref<32xf32>, %y: memref<32xf32>, %sums: memref<2xf32>) {
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %done = memref.alloc() : memref<2xi32>
    kernel.launch @clear(%done) single rows(%c2) work(%c2) : memref<2xi32>
    kernel.launch_group {
      kernel.launch @square(%x, %y, %done) phases(2) rows(%c32) work(%c32) {moe.phase = "sums"} : memref<32xf32>, memref<32xf32>, memref<2xi32>
      kernel.launch @sum(%y, %done, %sums) blocks(3) phases(2) lag(1) rows(%c2) work(%c32) {moe.phase = "sums", moe.traffic = {grid = @ep, offsets = 1 : i64}} : memref<32xf32>, memref<2xi32>, memref<2xf32>
    } // of the group
    kernel.launch @clear(%done) single rows(%c2) work(%c2) : memref<2xi32>
    kernel.launch_group {
      kernel.launch @square(%y, %x, %done) phases(2) rows(%c32) work(%c32) : memref<32xf32>, memref<32xf32>, memref<2xi32>
      kernel.launch @sum(%x, %done, %sums) blocks(3) phases(2) lag(1) rows(%c2) work(%c32) : memref<32xf32>, memref<2xi32>, memref<2xf32>
    } // of the group
    return
  }
}
