// One change each to a norm that is raised as it stands, and it stays plain; the function says why.
// RUN: moe-opt %s --raise-aten-to-graph | FileCheck %s --check-prefix=RAISED --implicit-check-not=moe.plain
// DEFINE: %{step} =
// DEFINE: %{why} =
// DEFINE: %{kept} = moe-opt --raise-aten-to-graph | FileCheck %s --check-prefix=KEPT -DSTEP="%{step}" -DWHY="%{why}"
// The mean over another dimension:
// REDEFINE: %{step} = mean
// REDEFINE: %{why} = it is not over the last dimension alone
// RUN: sed 's/dim = \[-1\]/dim = [0]/' %s | %{kept}
// The mean of something else than squares of x:
// REDEFINE: %{step} = square
// REDEFINE: %{why} = the mean is not that of the squares of what is multiplied
// RUN: sed 's/exponent = 2/exponent = 4/' %s | %{kept}
// The root of another number:
// REDEFINE: %{step} = eps
// REDEFINE: %{why} = the root is not rsqrt(mean(x^2) + eps)
// RUN: sed 's/rsqrt.default"(%%epsilon)/rsqrt.default"(%%mean)/' %s | %{kept}
// An epsilon that is computed:
// REDEFINE: %{why} = it is not a number
// RUN: sed 's/(%%mean) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<?x1xf32>)/(%%mean, %%e) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x1xf32>, tensor<1xf32>)/' %s | %{kept}

// RAISED:      nn.rms_norm

// KEPT:        func.func @near_miss{{.*}}moe.plain = [{{{[^}]*}}kind = "norm", {{[^}]*}}reason = "[[WHY]]", step = "[[STEP]]"}]
// KEPT-NOT:    nn.rms_norm
func.func @near_miss(%x: tensor<?x8xbf16>, %w: tensor<8xbf16>, %e: tensor<1xf32>, %column: tensor<?x1xbf16>) -> tensor<?x8xbf16> {
  %x32 = aten.call "aten.to.dtype"(%x) {self = #aten.arg<0>, dtype = f32} : (tensor<?x8xbf16>) -> tensor<?x8xf32>
  %square = aten.call "aten.pow.Tensor_Scalar"(%x32) {self = #aten.arg<0>, exponent = 2 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %mean = aten.call "aten.mean.dim"(%square) {self = #aten.arg<0>, dim = [-1], keepdim = true} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %epsilon = aten.call "aten.add.Tensor"(%mean) {self = #aten.arg<0>, other = 1.0e-05 : f64} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %root = aten.call "aten.rsqrt.default"(%epsilon) {self = #aten.arg<0>} : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %n = aten.call "aten.mul.Tensor"(%x32, %root) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %h = aten.call "aten.to.dtype"(%n) {self = #aten.arg<0>, dtype = bf16} : (tensor<?x8xf32>) -> tensor<?x8xbf16>
  %y = aten.call "aten.mul.Tensor"(%w, %h) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<8xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}
