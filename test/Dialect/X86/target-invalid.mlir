// A target that was edited by hand.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'columns' is 512; it must be in 2..64}}
module attributes {kernel.target = #x86.target<rows = 6, columns = 512, vector = 16>} {}

// -----

// expected-error@+1 {{'columns' is 24; those of a tile divide the 64 of a weight block}}
module attributes {kernel.target = #x86.target<cpu = "x86-64-v3", rows = 6, columns = 24, vector = 8>} {}

// -----

// expected-error@+1 {{'rows' is 33; it must be in 1..32}}
module attributes {kernel.target = #x86.target<rows = 33, columns = 64, vector = 16>} {}

// -----

// expected-error@+1 {{'vector' is 1; it must be in 4..64}}
module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 1>} {}

// -----

// expected-error@+1 {{'matrix_rows' is 33; it must be in 0..32}}
module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16, matrix_rows = 33>} {}

// -----

// expected-error@+1 {{'stream_ahead' is -1; it must be in 0..1048576}}
module attributes {kernel.target = #x86.target<rows = 6, columns = 64, vector = 16, stream_ahead = -1>} {}

// -----

// expected-error@+1 {{'matrix_rows' is set, but CPU 'x86-64-v4' has no amx-tile}}
module attributes {kernel.target = #x86.target<cpu = "x86-64-v4", rows = 6, columns = 64, vector = 16, matrix_rows = 32>} {}

// -----

// expected-error@+1 {{'matrix_rows' is set, but CPU 'sapphirerapids' has no amx-bf16}}
module attributes {kernel.target = #x86.target<cpu = "sapphirerapids", features = "-amx-bf16", rows = 6, columns = 64, vector = 16, matrix_rows = 32>} {}

// -----

// expected-error@+1 {{'dot_bf16' is set, but CPU 'x86-64-v4' has no avx512bf16}}
module attributes {kernel.target = #x86.target<cpu = "x86-64-v4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>} {}

// -----

// A field that nobody reads is an error, not a wish without effect.
// expected-error@+1 {{duplicate or unknown struct parameter name: row}}
module attributes {kernel.target = #x86.target<row = 4, columns = 64, vector = 16>} {}

// -----

// expected-error@+1 {{unknown CPU 'nonsense'}}
module attributes {kernel.target = #x86.target<cpu = "nonsense", rows = 6, columns = 64, vector = 16>} {}

// -----

// A level names the CPU that was found, not how it was asked for.
// expected-error@+1 {{unknown CPU 'native'}}
module attributes {kernel.target = #x86.target<cpu = "native", rows = 6, columns = 64, vector = 16>} {}
