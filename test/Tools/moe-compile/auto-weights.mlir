// A CPU reads an expert's weights with the first tile of its rows; what the other tiles compute hides none of it. Where
// memory is slow, ranks that read half of the experts for twice as many rows take less time than ranks that read all.
// RUN: sed 's/"core\(Bytes[^:]*\): [^,]*/"core\1: 12e9/; s/"memoryBytesPerSecond": [^,]*/"memoryBytesPerSecond": 20e9/' %S/../../../data/clusters/cpu.json > %t.slow.json
// RUN: sed 's/"core\(Bytes[^:]*\): [^,]*/"core\1: 400e9/; s/"memoryBytesPerSecond": [^,]*/"memoryBytesPerSecond": 900e9/' %S/../../../data/clusters/cpu.json > %t.fast.json
// RUN: moe-compile %s --parallel=auto,batch=8 --cluster=2x%t.slow.json --schedule-tokens=512 --to=spmd -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: moe-compile %s --parallel=auto,batch=8 --cluster=2x%t.fast.json --schedule-tokens=512 --to=spmd -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FAST

// SLOW: note: --parallel=ep=2,tokens=split:
// FAST: note: --parallel=dp=2:

module attributes {moe.level = "graph", moe.name = "layer"} {
  func.func @main(%x: tensor<?x512xbf16> {moe.name = "x", moe.dims = ["tokens", ""]})
      -> (tensor<?x512xbf16> {moe.name = "y", moe.dims = ["tokens", ""]}) {
    %router = moe.parameter ["router"] : tensor<8x512xbf16>
    %in = moe.parameter ["experts.gate_up"] : tensor<8x2048x512xbf16>
    %out = moe.parameter ["experts.down"] : tensor<8x512x1024xbf16>
    %logits = nn.linear %x, %router : tensor<?x512xbf16>, tensor<8x512xbf16> -> tensor<?x8xbf16>
    %weights, %ids = moe.gate %logits top_k(2) score(softmax) renormalize(sum)
        : tensor<?x8xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
    %rows, %layout = moe.dispatch %x, %ids num_experts(8)
        : tensor<?x512xbf16>, tensor<?x2xi32> -> tensor<?x512xbf16>, !moe.layout<8>
    %made = moe.expert %rows, %layout, %in, %out gated {
    ^bb0(%gate: f32, %value: f32):
      %silu = nn.silu %gate : f32
      %product = arith.mulf %silu, %value : f32
      moe.yield %product : f32
    } : tensor<?x512xbf16>, !moe.layout<8>, tensor<8x2048x512xbf16>, tensor<8x512x1024xbf16> -> tensor<?x512xbf16>
    %y = moe.combine %made, %layout weights(%weights : tensor<?x2xbf16>)
        : tensor<?x512xbf16>, !moe.layout<8> -> tensor<?x512xbf16>
    return %y : tensor<?x512xbf16>
  }
}
