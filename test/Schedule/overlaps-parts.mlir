// What a program cannot know of its parts is no error: how many there are shows when it runs.
// RUN: sed "s/schedule(<plain>)/schedule(<overlap, chunk = 8, order = part, steps = [1, 7], slices = 1>)/" %S/../Conversion/GraphToKernel/exchange.mlir \
// RUN:   | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.mlir
// RUN: sed "s/schedule(<plain>)/schedule(<parts = 8>)/" %S/../Conversion/GraphToKernel/exchange.mlir \
// RUN:   | moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled -o %t.mlir
// RUN: sed "s/schedule(<plain>)/schedule(<overlap, chunk = 8, steps = [1, 7], slices = 1>)/" %S/../Conversion/GraphToKernel/exchange.mlir \
// RUN:   | not moe-opt --kernel-set-target=target=cpu:x86-64-v4 --graph-to-scheduled --moe-verify-level=level=scheduled 2>&1 | FileCheck %s
// CHECK: 'moe.expert' op has a schedule whose steps take the rows of 8 ranks, but there are 2
