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
