// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --kernel-bf16-memory-to-integers | FileCheck %s
// RUN: moe-opt %s --kernel-set-target=target=cpu:znver4 --kernel-bf16-memory-to-integers | FileCheck %s --check-prefix=NATIVE
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --kernel-bf16-memory-to-integers -o %t && moe-opt %t --kernel-bf16-memory-to-integers | diff %t -

// CHECK: %[[LOADED:.*]] = llvm.intr.masked.load {{.*}} -> vector<8xi16>
// CHECK: llvm.bitcast %[[LOADED]] : vector<8xi16> to vector<8xbf16>
// CHECK: %[[STORED:.*]] = llvm.bitcast {{.*}} : vector<8xbf16> to vector<8xi16>
// CHECK: llvm.intr.masked.store %[[STORED]]
// CHECK: llvm.load {{.*}} -> i16
// CHECK: llvm.store {{.*}} : i16
// NATIVE-NOT: i16
llvm.func @f(%p: !llvm.ptr, %mask: vector<8xi1>, %pass: vector<8xbf16>) {
  %v = llvm.intr.masked.load %p, %mask, %pass {alignment = 2 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xbf16>) -> vector<8xbf16>
  llvm.intr.masked.store %v, %p, %mask {alignment = 2 : i32} : vector<8xbf16>, vector<8xi1> into !llvm.ptr
  %s = llvm.load %p : !llvm.ptr -> bf16
  llvm.store %s, %p : bf16, !llvm.ptr
  llvm.return
}
