// Rows of a batch are divided with their states; heads stay whole on every rank, as nothing divides what makes them.
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=dp=2})" | FileCheck %s
// RUN: moe-opt %s --pass-pipeline="builtin.module(moe-partition{parallel=tp=2})" | FileCheck %s --check-prefix=WHOLE

// CHECK-LABEL: func.func @model
// CHECK-SAME: "x", moe.split = @dp}
// CHECK: nn.causal_conv
// CHECK: nn.scan
// WHOLE-LABEL: func.func @model
// WHOLE: nn.linear {{.*}} tensor<8x8xf32> -> tensor<?x?x8xf32>
// WHOLE: nn.linear {{.*}} tensor<?x?x8xf32>, tensor<8x8xf32> -> tensor<?x?x8xf32>
// WHOLE: nn.causal_conv {{.*}} tensor<8x4xf32>
// WHOLE: nn.scan {{.*}} state(%{{.*}} : tensor<?x2x4x4xf32>)
func.func @model(%x: tensor<?x?x8xf32> {moe.dims = ["batch", "seq", ""], moe.name = "x"}, %h: tensor<?x2x4x4xf32> {moe.dims = ["batch", "", "", ""], moe.state})
    -> (tensor<?x?x2x4xf32> {moe.dims = ["batch", "seq", "", ""], moe.name = "y"}, tensor<?x2x4x4xf32> {moe.state_of = 1}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %seq = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %w = moe.parameter ["in"] : tensor<8x8xf32>
  %taps = moe.parameter ["conv"] : tensor<8x4xf32>
  %up = moe.parameter ["up"] : tensor<16x8xf32>
  %down = moe.parameter ["down"] : tensor<8x16xf32>
  %wide = nn.linear %x, %up : tensor<?x?x8xf32>, tensor<16x8xf32> -> tensor<?x?x16xf32>
  %dense = nn.linear %wide, %down : tensor<?x?x16xf32>, tensor<8x16xf32> -> tensor<?x?x8xf32>
  %in = nn.linear %dense, %w : tensor<?x?x8xf32>, tensor<8x8xf32> -> tensor<?x?x8xf32>
  %empty = tensor.empty(%batch, %seq) : tensor<?x8x?xf32>
  %columns = linalg.transpose ins(%in : tensor<?x?x8xf32>) outs(%empty : tensor<?x8x?xf32>) permutation = [0, 2, 1]
  %conv = nn.causal_conv %columns, %taps silu : tensor<?x8x?xf32>, tensor<8x4xf32> -> tensor<?x8x?xf32>
  %rows = tensor.empty(%batch, %seq) : tensor<?x?x8xf32>
  %back = linalg.transpose ins(%conv : tensor<?x8x?xf32>) outs(%rows : tensor<?x?x8xf32>) permutation = [0, 2, 1]
  %heads = tensor.expand_shape %back [[0], [1], [2, 3]] output_shape [%batch, %seq, 2, 4] : tensor<?x?x8xf32> into tensor<?x?x2x4xf32>
  %decay = tensor.extract_slice %heads[0, 0, 0, 0] [%batch, %seq, 2, 1] [1, 1, 1, 1] : tensor<?x?x2x4xf32> to tensor<?x?x2xf32>
  %y, %n = nn.scan %heads, %heads, %heads decay(%decay : tensor<?x?x2xf32>) beta(%decay : tensor<?x?x2xf32>) state(%h : tensor<?x2x4x4xf32>)
      : tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32> -> tensor<?x?x2x4xf32>
  return %y, %n : tensor<?x?x2x4xf32>, tensor<?x2x4x4xf32>
}
