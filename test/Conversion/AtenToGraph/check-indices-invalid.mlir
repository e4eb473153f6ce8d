// RUN: moe-opt %s --aten-check-indices --verify-diagnostics

func.func @select(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // expected-error-re@+1 {{index 4 is outside dimension 0, which has size 4 (aten.select.int at {{.*}}check-indices-invalid.mlir:5)}}
  %0 = aten.call "aten.select.int"(%x) {self = #aten.arg<0>, dim = 0 : i64, index = 4 : i64} : (tensor<4x8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @narrow(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  // expected-error-re@+1 {{a range that is narrowed to is outside dimension 1, which has size 8 (aten.narrow.default at {{.*}}check-indices-invalid.mlir:11)}}
  %0 = aten.call "aten.narrow.default"(%x) {self = #aten.arg<0>, dim = 1 : i64, start = -2 : i64, length = 3 : i64} : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
