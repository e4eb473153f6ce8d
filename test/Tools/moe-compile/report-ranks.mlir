// --report of layers on several ranks: blocks of a group's members on a GPU, the symmetric buffer, and schedules without times.
// RUN: moe-compile %s --from=graph --parallel=ep=8 --target=cuda:h200 --to=scheduled -q -o %t.scheduled.mlir
// RUN: sed "s/schedule(<.*>) {/schedule(<overlap, chunk = 128, steps = [1, 7], slices = 4, send = 12, return = 20>) {/" %t.scheduled.mlir > %t.overlap.mlir
// RUN: moe-compile %t.overlap.mlir --to=kernel -q -o %t.kernel.mlir --report | FileCheck %s --check-prefix=TEXT
// RUN: moe-compile %t.overlap.mlir --to=kernel -q -o %t.kernel.mlir --report=%t.json && %python %S/Inputs/print_report.py %t.json | FileCheck %s --check-prefix=JSON
// The blocks are those of the joined kernel, whose operands are those of both members.
// RUN: moe-opt %t.kernel.mlir --kernel-join-groups | FileCheck %s --check-prefix=JOINED

// COMET's table of buffers (its Table 3): 32 and 64 MB for 4096 and 8192 tokens of Mixtral, 16 and 32 MB of Qwen2.
// RUN: %python %S/Inputs/print_report.py %t.json rows 512 1024 | FileCheck %s --check-prefix=MIXTRAL
// RUN: sed "s/4096/2048/g" %s | moe-compile - --from=graph --parallel=ep=8 --target=cuda:h200 --to=kernel -q -o %t.kernel.mlir --report=%t.json && %python %S/Inputs/print_report.py %t.json rows 512 1024 | FileCheck %s --check-prefix=QWEN

// All bytes are those of the plan of windows.
// RUN: %python %S/Inputs/print_report.py %t.json bytes 1 13 512 1024 > %t.bytes
// RUN: moe-opt %t.kernel.mlir --kernel-plan-windows | moe-compile - --from=kernel --to=kernel -q -o %t.planned.mlir --report=%t.json && %python %S/Inputs/print_report.py %t.json bytes 1 13 512 1024 | diff %t.bytes -

// Sums in bf16 take half, and many ranks make it large.
// RUN: sed "s/x8x4096/x64x4096/; s/tensor<8x/tensor<64x/g; s/layout<8>/layout<64>/g; s/num_experts(8)/num_experts(64)/" %s > %t.many.mlir
// RUN: moe-compile %t.many.mlir --from=graph --parallel=ep=64,groups=64,sums=bf16 --target=cuda:h100 --to=kernel -q -o %t.kernel.mlir --report | FileCheck %s --check-prefix=MANY

// A schedule that the simulator refuses: a line says so. Ranks of a CPU have times, too, and no blocks.
// RUN: sed "s/steps = .1, 7./steps = [8]/; s/slices = 4, send = 12, return = 20/slices = 4, return = 140/" %t.overlap.mlir > %t.refused.mlir
// RUN: moe-compile %t.refused.mlir --to=kernel -q -o %t.kernel.mlir --report | FileCheck %s --check-prefix=REFUSED
// RUN: moe-compile %t.refused.mlir --to=kernel -q -o %t.kernel.mlir --report=%t.json && %python %S/Inputs/print_report.py %t.json schedules | FileCheck %s --check-prefix=WHY
// RUN: moe-compile %s --from=graph --parallel=ep=2 --target-cpu=x86-64-v3 --to=scheduled -q -o - | sed "s/schedule(<plain>)/schedule(<parts = 2>)/" | moe-compile - --to=kernel -q -o %t.kernel.mlir --report | FileCheck %s --check-prefix=CPU

// TEXT: {{^}}at the same time {{ *}}kernel {{ *}}blocks {{ *}}phases
// TEXT-NEXT: {{^}}mixtral: rows to experts {{ *}}send_chunks {{ *}}12 {{ *}}1
// TEXT-NEXT: {{^ *}}experts_up_{{[a-z0-9_]+ *}}120 {{ *}}2
// TEXT-NEXT: {{^}}mixtral: sums to tokens {{ *}}experts_down_{{[a-z0-9_]+ *}}112 {{ *}}4
// TEXT-NEXT: {{^ *}}return_sums_{{[a-z0-9_]+ *}}20 {{ *}}4
// TEXT: {{^}}bytes on each rank of @ep {{ *}}window {{ *}}size 8192 {{ *}}size 128 {{ *}}size 1
// TEXT: {{^}}  rows {{ *}}?x4096xbf16 {{ *}}537M {{ *}}8.39M
// TEXT: {{^}}  sums {{ *}}?x1024xf32 {{ *}}1.07G
// TEXT: {{^}}symmetric buffer of main {{ *}}1.6{{[0-9]}}G
// TEXT: {{^}}COMET's: 2 M N {{ *}}537M {{ *}}8.39M
// TEXT-NOT: the buffer takes
// JOINED-DAG: cuda.member @send_chunks{{.*}} blocks(12)
// JOINED-DAG: kernel.launch @send_chunks_with_{{.*}} {moe.flags = {each = 17 : i64, slices = 0 : i64, stride = 1 : i64}
// JOINED-DAG: cuda.member @experts_down
// JOINED-DAG: cuda.member @return_sums{{.*}} blocks(20)
// JSON: main: rows to experts: send_chunks 12 x 1, experts_up_{{[a-z0-9_]+}} 120 x 2
// JSON: main: sums to tokens: experts_down_{{[a-z0-9_]+}} 112 x 4, return_sums_{{[a-z0-9_]+}} 20 x 4
// JSON: main on ep: came 8xi32, rows ?x4096xbf16, companion0 ?x2xi32, companion1 ?x2xbf16, announcements 8x2xi32, chunks came 2048xi32, sums came 8192xi32, sums ?x1024xf32
// MIXTRAL: rows: 32 MB, 64 MB; COMET: 32 MB, 64 MB
// QWEN: rows: 16 MB, 32 MB; COMET: 16 MB, 32 MB
// MANY: {{^}}  rows {{ *}}?x4096xbf16 {{ *}}4.29G
// MANY: {{^}}  sums {{ *}}?x{{[0-9]+}}xbf16 {{ *}}4.29G
// MANY: {{^}}size 8192: the buffer takes 11 % of the memory of an H100 SXM; --windows=BYTES cuts exchanges into passes, and sums=bf16 takes less
// REFUSED: {{^}}schedule {{ *}}estimate {{ *}}plain {{ *}}floor {{ *}}hidden
// REFUSED-NEXT: {{^}}mixtral {{ *}}? {{ *}}? {{ *}}? {{ *}}?
// REFUSED-NEXT: {{^}}mixtral: overlap, {{.*}}, not simulated: schedule: 'return' is 140 of 132 multiprocessors
// CPU: {{^}}mixtral {{ *}}{{[0-9.]+}} {{.*}} 0 %
// CPU: {{^}}mixtral: parts = 2, simulated for 2 x cpu, 8192 tokens of each
// CPU-NOT: at the same time
// WHY: mixtral: schedule: 'return' is 140 of 132 multiprocessors; some have to multiply
func.func @main(%x: tensor<?x4096xbf16> {moe.dims = ["tokens", ""], moe.name = "x"}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.name = "ids"},
                %w: tensor<?x2xbf16> {moe.dims = ["tokens", ""], moe.name = "weights"}) -> (tensor<?x4096xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["mixtral.up"] : tensor<8x1024x4096xbf16>
  %down = moe.parameter ["mixtral.down"] : tensor<8x4096x512xbf16>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x4096xbf16>, tensor<?x2xi32> -> tensor<?x4096xbf16>, !moe.layout<8>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x4096xbf16>, !moe.layout<8>, tensor<8x1024x4096xbf16>, tensor<8x4096x512xbf16> -> tensor<?x4096xbf16>
  %y = moe.combine %r, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x4096xbf16>, !moe.layout<8> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
