// A check of an index goes through all levels: reduction kernel, load of its result, call of the runtime; it stands
// before the kernel that relies on it.
// RUN: moe-opt %s --moe-verify-level=level=graph --graph-to-kernel --moe-verify-level=level=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: moe-opt %s --kernel-set-target=target=cpu:x86-64-v3 --graph-to-kernel --kernel-to-runtime --moe-verify-level=level=runtime | FileCheck %s --check-prefix=RUNTIME

// KERNEL-LABEL: func.func @main
// KERNEL:       kernel.launch @[[REDUCE:.*]](
// KERNEL:       %[[OK:.*]] = memref.load %{{.*}}[] : memref<i1>
// KERNEL:       cf.assert %[[OK]], "an index is outside"
// KERNEL:       kernel.launch @embedding

// RUNTIME-LABEL: llvm.func @moe_run
// RUNTIME-SAME:  (%[[CTX:.*]]: !llvm.ptr)
// RUNTIME:       moert.launch
// RUNTIME:       %[[OK:.*]] = llvm.load %{{.*}} -> i1
// RUNTIME:       moert.check %[[CTX]], %[[OK]], "an index is outside"
// RUNTIME:       moert.launch
func.func @main(%ids: tensor<4xi64>, %table: tensor<9x8xf32>) -> tensor<4x8xf32> {
  %true = arith.constant true
  %end = arith.constant 9 : i64
  %empty = tensor.empty() : tensor<i1>
  %init = linalg.fill ins(%true : i1) outs(%empty : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%ids : tensor<4xi64>) outs(%init : tensor<i1>) {
  ^bb0(%id: i64, %acc: i1):
    %in = arith.cmpi ult, %id, %end : i64
    %both = arith.andi %acc, %in : i1
    linalg.yield %both : i1
  } -> tensor<i1>
  %ok = tensor.extract %all[] : tensor<i1>
  cf.assert %ok, "an index is outside"
  %y = nn.embedding %ids, %table : tensor<4xi64>, tensor<9x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
