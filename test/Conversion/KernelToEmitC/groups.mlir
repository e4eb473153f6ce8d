// A group as one launch: who has which blocks, who waits, and what arrives.
// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s
// RUN: moe-opt %s --kernel-join-groups | sed '/func.func/,/^  }/d' | moe-opt --kernel-to-emitc | FileCheck %s --check-prefix=LAUNCH

// The largest member's threads and shared memory, one block on a multiprocessor; slots of maps count those of the members before.
// LAUNCH:      emitc.func @send_with_multiply_with_give(
// LAUNCH-SAME: cuda.blocks_per_sm = 1 : i64
// LAUNCH-SAME: cuda.maps = [{box = [64, 64], columns = 64 : i64, element = bf16, rows = 256 : i64, slot = 14 : i64
// LAUNCH-SAME: cuda.shared = 197632 : i64, cuda.threads = 384 : i64

// CHECK:       extern "C" __global__ __launch_bounds__(384, 1) void send_with_multiply_with_give(moe::Bf16* [[X:v[0-9]+]], int64_t
// CHECK:         int32_t [[BLOCK:v[0-9]+]] = moe::blockIndex();
// CHECK-NEXT:    int32_t [[BLOCKS:v[0-9]+]] = moe::blockCount();
// CHECK-NEXT:    // 2 blocks: send_of_1.
// CHECK-NEXT:    if ([[BLOCK]] < 2) {
// CHECK:           for ({{.*}} = (int64_t) [[BLOCK]] * {{.*}}; {{.*}} += (int64_t) 2 *
// CHECK:             moe::putRow<96>(
// CHECK:             moe::signalRank(
// CHECK:         } else {

// The product has the blocks that are left: 2 before, 1 behind.
// CHECK:           int32_t [[OWN:v[0-9]+]] = [[BLOCK]] - 2;
// CHECK-NEXT:      int32_t [[COUNT:v[0-9]+]] = [[BLOCKS]] - 3;
// CHECK-NEXT:      // The other blocks: multiply_of_2.
// CHECK-NEXT:      if ([[BLOCK]] < [[BLOCKS]] - 1) {
// CHECK-NEXT:        {{.*}} = moe::makeRing<8, 24576, 129, 8>();
// CHECK:             if ({{v[0-9]+}} < 128) {

// The role that loads waits, if a tile of the record is its turn; all of its threads share the flags, and meet.
// CHECK:               #pragma unroll 1
// CHECK-NEXT:          for (int64_t {{[a-z]+[0-9]+}} = 0; {{.*}} < 2;
// CHECK:                 [[FIRST:v[0-9]+]] = moe::firstTile({{v[0-9]+}}, [[OWN]], [[COUNT]]);
// CHECK-NEXT:            if ([[FIRST]] < {{v[0-9]+}}) {
// CHECK-NEXT:              int32_t [[THREAD:v[0-9]+]] = moe::threadIndex();
// CHECK:                   for (int64_t [[FLAG:[a-z]+[0-9]+]] = {{.*}} + (int64_t) [[THREAD]]; {{.*}} += 128) {
// CHECK:                     moe::awaitRank({{.*}}, [[FLAG]],
// CHECK-NEXT:              }
// CHECK-NEXT:              moe::syncNamed(1, 128);
// CHECK-NEXT:            }
// CHECK-NEXT:            for (int32_t {{[a-z]+[0-9]+}} = [[FIRST]]; {{.*}} += [[COUNT]]) {
// CHECK:                   moe::copyAsync(
// CHECK:                   moe::arriveCopied(

// The role that multiplies does not; each tile arrives behind its stores, with its part of the record.
// CHECK:               moe::increaseRegisters<224>();
// CHECK-NOT:           moe::awaitRank(
// CHECK:               moe::wgmmaBf16(
// CHECK:               moe::storePair(
// CHECK:               moe::syncNamed(2, 256);
// CHECK:               if ({{v[0-9]+}} + -128 == 0) {
// CHECK:                 moe::countArrival({{v[0-9]+}}, {{v[0-9]+}}, {{v[0-9]+}});

// One lane waits for arrivals, with the patience of the ranks that the kernel has windows of.
// CHECK:             // 1 block: give_of_2.
// CHECK:             moe::syncWarp();
// CHECK:             if (
// CHECK-NEXT:          int32_t* [[COUNTER:v[0-9]+]] =
// CHECK-NEXT:          moe::awaitArrivals([[COUNTER]], {{v[0-9]+}}, {{v[0-9]+}});
// CHECK-NEXT:        }
// CHECK-NEXT:        moe::syncWarp();
// CHECK:             moe::putRow<40>(
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  shard.grid @ep(shape = 2)
  kernel.func @send(%x: memref<?x96xbf16>, %rows: !kernel.window<?x96xbf16>, %came: !kernel.window<8xi32>, %me: index) {
    %epoch = kernel.epoch %came : !kernel.window<8xi32> -> i32
    scf.forall (%peer) in (2) {
      kernel.put %x[%me], %rows[%peer][%me] : memref<?x96xbf16>, !kernel.window<?x96xbf16>
      kernel.signal %came[%peer][%me], %epoch : !kernel.window<8xi32>
    }
    kernel.return
  }
  kernel.func @multiply(%rows: !kernel.window<?x96xbf16>, %came: !kernel.window<8xi32>, %records: memref<4x2xi32>, %w: memref<2x2x64x64xbf16>, %y: memref<?x40xbf16>, %done: memref<2xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %own = kernel.part %rows : !kernel.window<?x96xbf16> -> memref<?x96xbf16>
    %epoch = kernel.epoch %came : !kernel.window<8xi32> -> i32
    %phase = kernel.phase : index
    scf.forall (%record) in (%n) {
      %flags = memref.load %records[%record, %c0] : memref<4x2xi32>
      %last = arith.index_cast %flags : i32 to index
      scf.for %flag = %phase to %last step %c1 {
        %peer = arith.remui %flag, %c2 : index
        kernel.await %came[%flag] reach %epoch from %peer : !kernel.window<8xi32>
      }
      %count = memref.load %records[%record, %c1] : memref<4x2xi32>
      %end = arith.index_cast %count : i32 to index
      scf.for %row = %c0 to %end step %c128 {
        %left = arith.subi %end, %row : index
        kernel.row_tile %left max 128 {
          %index = kernel.row_indices %row {
          ^bb0(%i: index):
            kernel.yield %i : index
          } : <128>
          %zero = kernel.zero : <128x64xf32>
          %acc = scf.for %k = %c0 to %c96 step %c64 iter_args(%a = %zero) -> (!kernel.acc<128x64xf32>) {
            %next = kernel.mma %a, %own[%index, %k], %w[%phase, %k, %c0] : !kernel.acc<128x64xf32>, memref<?x96xbf16>, memref<2x2x64x64xbf16>
            scf.yield %next : !kernel.acc<128x64xf32>
          }
          kernel.store_tile %acc -> %y[%index, %c0] {
          ^bb0(%r: index, %c: index, %v: f32):
            %o = arith.truncf %v : f32 to bf16
            kernel.yield %o : bf16
          } : (!kernel.acc<128x64xf32>), memref<?x40xbf16>
        }
      }
      kernel.arrive %done[%phase] : memref<2xi32>
    }
    kernel.return
  }
  kernel.func @give(%y: memref<?x40xbf16>, %done: memref<2xi32>, %sums: !kernel.window<?x40xbf16>, %back: !kernel.window<8xi32>, %n: index) {
    %phase = kernel.phase : index
    %epoch = kernel.epoch %back : !kernel.window<8xi32> -> i32
    scf.forall (%peer) in (2) {
      kernel.await_arrivals %done[%phase] reach %n : memref<2xi32>
      kernel.put %y[%phase], %sums[%peer][%phase] : memref<?x40xbf16>, !kernel.window<?x40xbf16>
      kernel.signal %back[%peer][%phase], %epoch : !kernel.window<8xi32>
    }
    kernel.return
  }
  func.func @main(%x: memref<?x96xbf16>, %w: memref<2x2x64x64xbf16>, %records: memref<4x2xi32>, %y: memref<?x40xbf16>, %n: index) {
    %rows = kernel.window(%n) on @ep as "rows" : !kernel.window<?x96xbf16>
    %sums = kernel.window(%n) on @ep as "sums" : !kernel.window<?x40xbf16>
    %came = kernel.window() on @ep as "came" : !kernel.window<8xi32>
    %back = kernel.window() on @ep as "back" : !kernel.window<8xi32>
    %done = memref.alloc() : memref<2xi32>
    %me = kernel.rank on @ep : index
    kernel.launch_group {
      kernel.launch @send(%x, %rows, %came, %me) blocks(2) rows(%n) work(%n) : memref<?x96xbf16>, !kernel.window<?x96xbf16>, !kernel.window<8xi32>, index
      kernel.launch @multiply(%rows, %came, %records, %w, %y, %done, %n) phases(2) rows(%n) work(%n) : !kernel.window<?x96xbf16>, !kernel.window<8xi32>, memref<4x2xi32>, memref<2x2x64x64xbf16>, memref<?x40xbf16>, memref<2xi32>, index
      kernel.launch @give(%y, %done, %sums, %back, %n) blocks(1) phases(2) lag(1) rows(%n) work(%n) : memref<?x40xbf16>, memref<2xi32>, !kernel.window<?x40xbf16>, !kernel.window<8xi32>, index
    }
    return
  }
}
