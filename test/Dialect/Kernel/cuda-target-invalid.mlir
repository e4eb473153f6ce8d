// A GPU's traits that were edited by hand.
// RUN: not moe-opt %s --convert-graph-to-kernel --split-input-file 2>&1 | FileCheck %s

// CHECK: error: 'kernel.target' needs a multiple of 64 as 'rows' in 128..128
module attributes {kernel.target = {cuda = "sm_90a", rows = 64, columns = 128, depth = 64, stages = 4}} {}

// -----

// CHECK: error: 'kernel.target' needs a multiple of 16 as 'columns' in 16..256
module attributes {kernel.target = {cuda = "sm_90a", rows = 128, columns = 100, depth = 64, stages = 4}} {}

// -----

// CHECK: error: 'kernel.target' needs a multiple of 64 as 'depth' in 64..64
module attributes {kernel.target = {cuda = "sm_90a", rows = 128, columns = 128, depth = 2, stages = 4}} {}

// -----

// CHECK: error: 'kernel.target' needs a multiple of 1 as 'stages' in 2..8
module attributes {kernel.target = {cuda = "sm_90a", rows = 128, columns = 128, depth = 64, stages = 1}} {}
