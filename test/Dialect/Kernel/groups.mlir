// RUN: moe-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: kernel.func @produce
// CHECK-SAME: (%{{.*}}: memref<32xf32>, %[[DONE:.*]]: memref<?xi32>)
kernel.func @produce(%y: memref<32xf32>, %done: memref<?xi32>) {
  // CHECK: %[[PHASE:.*]] = kernel.phase : index
  %phase = kernel.phase : index
  scf.forall (%i) in (16) {
    // CHECK: kernel.arrive %[[DONE]][%[[PHASE]]] : memref<?xi32>
    kernel.arrive %done[%phase] : memref<?xi32>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @consume
kernel.func @consume(%done: memref<?xi32>, %n: index) {
  %phase = kernel.phase : index
  scf.forall (%i) in (4) {
    // CHECK: kernel.await_arrivals %{{.*}}[%{{.*}}] reach %{{.*}} : memref<?xi32>
    kernel.await_arrivals %done[%phase] reach %n : memref<?xi32>
  }
  kernel.return
}

// CHECK-LABEL: func.func @main
func.func @main(%y: memref<32xf32>, %done: memref<?xi32>, %n: index) {
  // CHECK: kernel.launch_group {
  // CHECK-NEXT: kernel.launch @produce(%{{.*}}, %{{.*}}) phases(2) rows(%{{.*}}) work(%{{.*}}) : memref<32xf32>, memref<?xi32>
  // CHECK-NEXT: kernel.launch @consume(%{{.*}}, %{{.*}}) blocks(3) phases(2) lag(1) rows(%{{.*}}) work(%{{.*}}) {moe.phase = "back"} : memref<?xi32>, index
  // CHECK-NEXT: }
  kernel.launch_group {
    kernel.launch @produce(%y, %done) phases(2) rows(%n) work(%n) : memref<32xf32>, memref<?xi32>
    kernel.launch @consume(%done, %n) blocks(3) phases(2) lag(1) rows(%n) work(%n) {moe.phase = "back"} : memref<?xi32>, index
  }
  // CHECK: kernel.launch @consume(%{{.*}}, %{{.*}}) single phases(2) rows(%{{.*}}) work(%{{.*}}) : memref<?xi32>, index
  kernel.launch @consume(%done, %n) single phases(2) rows(%n) work(%n) : memref<?xi32>, index
  // CHECK: kernel.launch_group attributes {moe.name = "one"} {
  kernel.launch_group attributes {moe.name = "one"} {
    kernel.launch @consume(%done, %n) lag(0) rows(%n) work(%n) : memref<?xi32>, index
  }
  return
}
