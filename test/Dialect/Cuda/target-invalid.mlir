// A GPU's target that was edited by hand.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'rows' is 64; kernels for sm_90a are written for 128}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 64, columns = 128, depth = 64, activation = exact>} {}

// -----

// expected-error@+1 {{'columns' is 100; kernels for sm_90a are written for multiples of 16 in 16..256}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 100, depth = 64, activation = exact>} {}

// -----

// expected-error@+1 {{'depth' is 2; kernels for sm_90a are written for 64}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 2, activation = exact>} {}

// -----

// expected-error-re@+1 {{unknown GPU 'b200'; kernels are written for {{.+}}}}
module attributes {kernel.target = #cuda.target<device = "b200", rows = 128, columns = 256, depth = 64, activation = approximate>} {}

// -----

// expected-error@+2 {{expected ::mlir::cuda::Activation to be one of: approximate, exact}}
// expected-error@+1 {{failed to parse}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64, activation = fast>} {}
