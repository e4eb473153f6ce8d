// Windows of ranks: slots, who executes what, and calls of the device library.
// RUN: moe-translate --kernel-to-cuda %s | FileCheck %s

// A window has three slots, one without a dynamic size two. One thread begins the next exchange.
// CHECK-LABEL: void begin(const moe::Peers* v1, int64_t v2) {
// CHECK:       if ({{.*}} == 0) {
// CHECK-NEXT:    moe::syncWarp();
// CHECK-NEXT:    if ((int64_t) ({{.*}} % 32) == 0) {
// CHECK-NEXT:      moe::nextExchange(v1);
kernel.func @begin(%came: !kernel.window<2xi32>) {
  kernel.advance %came : !kernel.window<2xi32>
  kernel.return
}

// All lanes put, one after another of them signals: loops that exchange are not shared.
// CHECK-LABEL: void give(moe::Bf16* v1, int64_t v2, const moe::Peers* v3, int64_t v4, int64_t v5, const moe::Peers* v6, int64_t v7, int64_t v8) {
// CHECK:       int32_t [[EPOCH:v[0-9]+]] = moe::presentEpoch(v6);
// CHECK:       for (int64_t [[PEER:[a-z]+[0-9]+]] =
// CHECK:         for (int64_t [[ROW:[a-z]+[0-9]+]] = 0; [[ROW]] < v2; [[ROW]] += 1) {
// CHECK-NEXT:      moe::syncWarp();
// CHECK-NEXT:      moe::putRow<24>(v1, [[ROW]], v3, v4, [[PEER]], [[ROW]]);
// CHECK-NEXT:    }
// CHECK-NEXT:    moe::syncWarp();
// CHECK-NEXT:    if ({{.*}} == 0) {
// CHECK-NEXT:      moe::signalRank(v6, v7, [[PEER]], v8, [[EPOCH]]);
// CHECK-NEXT:    }
// CHECK-NEXT:    moe::syncWarp();
kernel.func @give(%x: memref<?x3x8xbf16>, %rows: !kernel.window<?x3x8xbf16>, %came: !kernel.window<2xi32>, %me: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x3x8xbf16>
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  scf.forall (%peer) in (2) {
    scf.for %i = %c0 to %n step %c1 {
      kernel.put %x[%i], %rows[%peer][%i] : memref<?x3x8xbf16>, !kernel.window<?x3x8xbf16>
    }
    kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
  }
  kernel.return
}

// The lanes wait for the one that waits; the own part is any buffer, that of another rank is stored to.
// CHECK-LABEL: void take(
// CHECK-DAG:   float* [[OWN:v[0-9]+]] = moe::ownPart<float>(v1, v2);
// CHECK-DAG:   float* [[THERE:v[0-9]+]] = moe::partOf<float>(v1, v2, v6);
// CHECK:         for (int64_t [[ROW:[a-z]+[0-9]+]] =
// CHECK:           bool [[FIRST:v[0-9]+]] = {{.*}} % 32) == 0;
// CHECK-NEXT:      if ([[FIRST]]) {
// CHECK-NEXT:        moe::awaitRank(v4, v5, [[ROW]], {{v[0-9]+}}, v6);
// CHECK-NEXT:      }
// CHECK-NEXT:      moe::syncWarp();
// CHECK-NEXT:      float [[VALUE:v[0-9]+]] = moe::loadGlobal([[OWN]] +
// CHECK:           if ([[FIRST]]) {
// CHECK-NEXT:        float* [[PLACE:v[0-9]+]] = [[THERE]] +
// CHECK-NEXT:        moe::storeGlobal([[PLACE]], [[VALUE]]);
kernel.func @take(%rows: !kernel.window<?x4xf32>, %came: !kernel.window<2xi32>, %peer: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
  %own = kernel.part %rows : !kernel.window<?x4xf32> -> memref<?x4xf32>
  %there = kernel.part %rows[%peer] : !kernel.window<?x4xf32> -> memref<?x4xf32>
  scf.forall (%row) in (2) {
    kernel.await %came[%row] reach %epoch from %peer : !kernel.window<2xi32>
    %v = memref.load %own[%row, %c0] : memref<?x4xf32>
    memref.store %v, %there[%row, %c1] : memref<?x4xf32>
  }
  kernel.return
}
