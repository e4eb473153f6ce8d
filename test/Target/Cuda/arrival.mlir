// The same kernel as in product.mlir, with arrival = noinc in its plan.
// RUN: sed 's/arrival = lag/arrival = noinc/' %S/product.mlir | moe-translate --kernel-to-cuda | FileCheck %s

// Each of the 128 loading threads arrives, and the one that asks TMA once more.
// CHECK:      [[RING:v[0-9]+]] = moe::makeRing<4, 32768, 129, 8>();

// Loading, few rows: nobody waits for copies.
// CHECK:      moe::decreaseRegisters<56>();
// CHECK-NOT:  moe::announce
// CHECK:      moe::copyAsync(
// CHECK-NEXT: moe::arriveCopied([[RING]]);
// CHECK-NEXT: moe::advance([[RING]]);

// Many rows, by TMA: each thread has seen that the stage is empty.
// CHECK:      } else {
// CHECK-NOT:  moe::drain
// CHECK-COUNT-3: moe::loadBox(
// CHECK-NEXT: }
// CHECK-NEXT: moe::arriveThread([[RING]]);
// CHECK-NEXT: moe::advance([[RING]]);

// At the end of the role.
// CHECK:      moe::endCopies();

// Multiplying: copied rows need a fence after the wait, those of TMA none.
// CHECK:      moe::increaseRegisters<224>();
// CHECK:      moe::await([[RING]]);
// CHECK-NEXT: moe::fenceProxy<moe::ProxyFence::Shared>();
// CHECK:      moe::await([[RING]]);
// CHECK-NOT:  moe::fenceProxy
