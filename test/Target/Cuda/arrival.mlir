// The same kernel as in product.mlir, with arrival = noinc in its plan.
// RUN: sed 's/arrival = lag/arrival = noinc/' %S/product.mlir | moe-translate --kernel-to-cuda | FileCheck %s

// Each of the 128 loading threads arrives, and the one that asks TMA once more.
// CHECK:      moe::initBarrier(barriers + 0, 129);
// CHECK-NEXT: moe::initBarrier(barriers + 8, 8);

// Loading, few rows: nobody waits for copies.
// CHECK:      moe::decreaseRegisters<56>();
// CHECK-NOT:  unannounced
// CHECK:      moe::copyAsync(
// CHECK-NEXT: }
// CHECK-NEXT: moe::arriveWhenCopied(full);
// CHECK-NEXT: moe::advance<4>(ring);

// Many rows, by TMA: each thread has seen that the stage is empty.
// CHECK:      } else {
// CHECK-NOT:  moe::waitCopies
// CHECK:      moe::loadTile2d(stage + 24576, &v6, full, 0, weightRow + 64);
// CHECK-NEXT: }
// CHECK-NEXT: moe::arrive(full);
// CHECK-NEXT: moe::advance<4>(ring);

// At the end of the role.
// CHECK:      moe::commitCopies();
// CHECK-NEXT: moe::waitCopies<0>();

// Multiplying: copied rows need a fence after the wait, those of TMA none.
// CHECK:      moe::increaseRegisters<224>();
// CHECK:      moe::wait(barriers + 16 * ring.stage, ring.parity);
// CHECK-NEXT: moe::fenceProxyAsyncShared();
// CHECK-NEXT: const moe::SharedAddress stage =
// CHECK:      moe::wait(barriers + 16 * ring.stage, ring.parity);
// CHECK-NEXT: const moe::SharedAddress stage =
