// A target that was edited by hand.
// RUN: not moe-opt %s --convert-graph-to-kernel --split-input-file 2>&1 | FileCheck %s

// CHECK: error: 'kernel.target' needs an integer 'columns' in 1..256
module attributes {kernel.target = {rows = 6, columns = 512, vector = 16}} {}

// -----

// CHECK: error: 'kernel.target' needs an integer 'vector' in 1..64
module attributes {kernel.target = {rows = 6, columns = 64}} {}


// -----

// CHECK: error: 'kernel.target' needs an integer 'rows' in 1..32
module attributes {kernel.target = {rows = 33, columns = 64, vector = 16}} {}

// -----

// CHECK: error: 'kernel.target' needs an integer 'columns' in 1..256
module attributes {kernel.target = {rows = 6, columns = "16", vector = 16}} {}

// -----

// CHECK: error: 'kernel.target' needs an integer 'matrix_rows' in 1..32
module attributes {kernel.target = {rows = 6, columns = 64, vector = 16, matrix_rows = 33}} {}

// -----

// CHECK: error: 'kernel.target' needs an integer 'matrix_rows' in 1..32
module attributes {kernel.target = {rows = 6, columns = 64, vector = 16, matrix_rows}} {}

// -----

// CHECK: error: 'kernel.target' needs an integer 'stream_ahead' in 1..1048576
module attributes {kernel.target = {rows = 6, columns = 64, vector = 16, stream_ahead = 0}} {}

// -----

// CHECK: error: 'kernel.target' has 'matrix_rows', but CPU 'x86-64-v4' has no amx-tile
module attributes {kernel.target = {cpu = "x86-64-v4", rows = 6, columns = 64, vector = 16, matrix_rows = 32}} {}

// -----

// CHECK: error: 'kernel.target' has 'matrix_rows', but CPU 'sapphirerapids' has no amx-bf16
module attributes {kernel.target = {cpu = "sapphirerapids", features = "-amx-bf16", rows = 6, columns = 64, vector = 16, matrix_rows = 32}} {}

// -----

// CHECK: error: 'kernel.target' has 'dot_bf16', but CPU 'x86-64-v4' has no avx512bf16
module attributes {kernel.target = {cpu = "x86-64-v4", rows = 6, columns = 64, vector = 16, dot_bf16}} {}
