// --windows: exchanges in passes, said by --report and by remarks.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --windows=64K --target-cpu=x86-64-v3 --to=kernel -v -o %t.kernel.mlir --report 2> %t.remarks | FileCheck %s --check-prefix=TABLE
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: FileCheck %s --check-prefix=KERNEL < %t.kernel.mlir
// RUN: moe-compile %s --from=graph --parallel=ep=2,tokens=replicated --windows=64K --target-cpu=x86-64-v3 --to=kernel -q -o %t.kernel.mlir --report | FileCheck %s --check-prefix=REPLICATED
// A number of the text is kept, and another one is as good.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --windows=64K --target-cpu=x86-64-v3 --to=scheduled -q -o - | sed 's/pass_tokens = 64/pass_tokens = 5/' | moe-compile - --to=kernel -q -o %t.kernel.mlir --report | FileCheck %s --check-prefix=EDITED
// Without the flag a program of any number of tokens is not cut.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --target-cpu=x86-64-v3 --to=kernel -q -o - | FileCheck %s --check-prefix=WHOLE
// A limit that not even one token keeps is said, and the program is made.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --windows=1 --target-cpu=x86-64-v3 --to=scheduled --progress=none -o - 2> %t.small | FileCheck %s --check-prefix=SMALLEST
// RUN: FileCheck %s --check-prefix=SMALL < %t.small
// Times are those of all passes.
// RUN: moe-compile %s --from=graph --parallel=ep=2 --windows=64K --cluster=H100 --schedule-tokens=256 --target-cpu=x86-64-v3 --to=kernel -v -o %t.kernel.mlir --report 2>&1 | FileCheck %s --check-prefix=TIMES
// RUN: moe-compile %s --from=graph --parallel=ep=2 --windows=64K --target-cpu=x86-64-v3 --to=scheduled -q -o %t.scheduled.mlir && moe-sim %t.scheduled.mlir --cluster=2xH100 --tokens=256 | FileCheck %s --check-prefix=SIM

// RUN: not moe-compile %s --from=graph --windows=64K 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --windows=0 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --windows=64KiB 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --windows= 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not moe-compile %s --from=graph --parallel=ep=2 --windows=1M --to=spmd 2>&1 | FileCheck %s --check-prefix=SPMD
// RUN: not moe-compile %s --from=graph --parallel=ep=4,nodes=2,tokens=split --windows=1M --to=kernel 2>&1 | FileCheck %s --check-prefix=NODES
// RUN: not moe-compile %t.kernel.mlir --windows=1M 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not moe-compile %t.scheduled.mlir --windows=1M --to=kernel 2>&1 | FileCheck %s --check-prefix=SCHEDULED

// REMARK: [Analysis] Passes: passes of at most 64 tokens of each rank: windows of 50688 bytes, of 65536 for all
// TABLE: {{^}}passes {{ *}}tokens of each rank {{ *}}size 128 {{ *}}size 1{{$}}
// TABLE-NEXT: {{^}}up {{ *}}64 {{ *}}2 {{ *}}1{{$}}
// TABLE: {{^}}bytes on each rank of @ep {{ *}}window {{ *}}size 128 {{ *}}size 1{{$}}
// TABLE: {{^}}  rows {{ *}}?x64xbf16 {{ *}}16.4k {{ *}}256
// COMET's buffer is for all tokens.
// TABLE: {{^}}COMET's: 2 M N {{ *}}32.8k {{ *}}256
// KERNEL: {kernel.passes}
// REPLICATED: {{^}}up {{ *}}64 {{ *}}2 {{ *}}1{{$}}
// REPLICATED: {{^}}  summands {{ *}}?x64xf32 {{ *}}65.5k {{ *}}1.02k
// EDITED: {{^}}up {{ *}}5 {{ *}}26 {{ *}}1{{$}}
// WHOLE-NOT: passes
// SMALLEST: kernel.pass_tokens = 1 : i64
// SMALL: moe-compile: warning: {{.*}}windows.mlir:{{[0-9]+}}: windows take 792 bytes for one token of each rank, more than the limit of 1; exchanges are cut into passes of one token, which are slow
// TIMES: simulated for 2 x H100, 2 passes of 64 tokens of each
// SIM: passes:    2 of the program, one after the other; times are those of one
// SIM-NEXT: simulated: {{.*}}64
// ONE: moe-compile: error: --windows is for what ranks share, and this program has one; add --parallel=ep=N
// NUMBER: moe-compile: error: --windows=0 is no number of bytes; 64M, say, with K, M or G
// WORD: moe-compile: error: --windows=64KiB is no number of bytes
// EMPTY: moe-compile: error: the value of --windows is empty
// SPMD: moe-compile: error: --windows decides passes, at level scheduled, which --to=spmd does not reach
// LATE: moe-compile: error: --windows cuts exchanges on the way to level scheduled; '{{.*}}' is at level kernel already, where 'kernel.pass_tokens' says it
// NODES: moe-compile: error: --windows cuts single exchanges into passes, and nodes=2 has two, one inside of the other; leave one of them out
// SCHEDULED: moe-compile: error: --windows cuts exchanges on the way to level scheduled; '{{.*}}' is at level scheduled already
func.func @main(%x: tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "x"}, %e: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.name = "ids"},
                %w: tensor<?x2xbf16> {moe.dims = ["tokens", ""], moe.name = "weights"}) -> (tensor<?x64xbf16> {moe.dims = ["tokens", ""], moe.name = "y"}) {
  %up = moe.parameter ["up.w"] : tensor<8x128x64xbf16>
  %down = moe.parameter ["down.w"] : tensor<8x64x64xbf16>
  %rows, %layout = moe.dispatch %x, %e num_experts(8) : tensor<?x64xbf16>, tensor<?x2xi32> -> tensor<?x64xbf16>, !moe.layout<8>
  %r = moe.expert %rows, %layout, %up, %down gated {
  ^bb0(%g: f32, %u: f32):
    %a = arith.mulf %g, %u : f32
    moe.yield %a : f32
  } : tensor<?x64xbf16>, !moe.layout<8>, tensor<8x128x64xbf16>, tensor<8x64x64xbf16> -> tensor<?x64xbf16>
  %y = moe.combine %r, %layout weights(%w : tensor<?x2xbf16>) : tensor<?x64xbf16>, !moe.layout<8> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
