// RUN: moe-opt %s --convert-host-to-moert --split-input-file --verify-diagnostics

// The axes of a program have known sizes.
// expected-error@+1 {{'shard.grid' op has a number of ranks that is not known, or none; give the size of each dimension}}
shard.grid @ep(shape = 2x?)
func.func @main() {
  return
}

// -----

// What a launch is for is a text.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+1 {{'kernel.launch' op 'moe.phase' must say what the launch is for, got 1 : i64}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.phase = 1} : memref<3xi32>, index
  return
}

// -----

// And not empty.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+1 {{'kernel.launch' op 'moe.phase' must say what the launch is for, got ""}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.phase = ""} : memref<3xi32>, index
  return
}

// -----

// Traffic is on a grid.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {grid = @tp, row_bytes = 8 : i64, rows = 1 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @tp, rows = 1, row_bytes = 8}} : memref<3xi32>, index
  return
}

// -----

// Offsets are one of the operands.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {grid = @ep, offsets = 2 : i64, row_bytes = 8 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, offsets = 2, row_bytes = 8}} : memref<3xi32>, index
  return
}

// -----

// And are offsets.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {grid = @ep, offsets = 1 : i64, row_bytes = 8 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, offsets = 1, row_bytes = 8}} : memref<3xi32>, index
  return
}

// -----

// A number of rows is an index.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {grid = @ep, row_bytes = 8 : i64, rows = 0 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, rows = 0, row_bytes = 8}} : memref<3xi32>, index
  return
}

// -----

// Rows are said in one way.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {grid = @ep, offsets = 0 : i64, row_bytes = 8 : i64, rows = 1 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, offsets = 0, rows = 1, row_bytes = 8}} : memref<3xi32>, index
  return
}

// -----

// Bytes are a number.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {fixed_bytes = "8", grid = @ep}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, fixed_bytes = "8"}} : memref<3xi32>, index
  return
}

// -----

// And not negative.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {fixed_bytes = -8 : i64, grid = @ep}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, fixed_bytes = -8}} : memref<3xi32>, index
  return
}

// -----

// A field of another name would count nothing.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.traffic' must be {grid = @name, offsets = <number of an operand of type memref<ranks + 1 x i32>>, or rows = <number of an index>, row_bytes = <bytes>, fixed_bytes = <bytes>}, got {bytes = 8 : i64, grid = @ep}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.traffic = {grid = @ep, bytes = 8}} : memref<3xi32>, index
  return
}

// -----

// Blocks of packed rows belong to one rank each. Without slices a rank has blocks of its own.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)
kernel.func @k(%w: memref<1x32x64x2xbf16>) {
  kernel.return
}
func.func @main() {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'moe.parameter'}}
  // expected-error@+1 {{'moe.parameter' op is divided among the ranks of @ep, but packed in blocks that do not end where the part of a rank does}}
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>, #moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2>] {moe.shape = array<i64: 32, 64>} : memref<1x32x64x2xbf16>
  kernel.launch @k(%w) rows(%n) work(%n) : memref<1x32x64x2xbf16>
  return
}

// -----

// Gate and up rows share blocks.
shard.grid @ep(shape = 2)
shard.grid @etp(shape = 2)
kernel.func @k(%w: memref<1x32x64x2xbf16>) {
  kernel.return
}
func.func @main() {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'moe.parameter'}}
  // expected-error@+1 {{'moe.parameter' op is divided among the ranks of @ep, but packed in blocks that do not end where the part of a rank does}}
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 2>, #moe.shard<dim = 0, grid = @ep, ranks = 2>, #moe.pack<columns = 64, pairs = 2, halves = true>] {moe.shape = array<i64: 64, 64>} : memref<1x32x64x2xbf16>
  kernel.launch @k(%w) rows(%n) work(%n) : memref<1x32x64x2xbf16>
  return
}

// -----

// The archive has the parts of one rank together: of two grids only one may have slices.
shard.grid @a(shape = 2)
shard.grid @b(shape = 2)
kernel.func @k(%w: memref<4x4xf32>) {
  kernel.return
}
func.func @main() {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'moe.parameter'}}
  // expected-error@+1 {{'moe.parameter' op has slices of two grids; the parts of ranks are one behind the other in the archive for one grid beside that of dimension 0}}
  %w = moe.parameter ["w"] recipe [#moe.shard<dim = 1, grid = @a, ranks = 2>, #moe.once<grid = @b, ranks = 2>] : memref<4x4xf32>
  kernel.launch @k(%w) rows(%n) work(%n) : memref<4x4xf32>
  return
}

// -----

// What flags count is an index among the operands.
shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.flags' must be {each = <number of an operand of type index>, slices = <number>, stride = <number>}, got {each = 0 : i64, slices = 2 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.flags = {each = 0, slices = 2}} : memref<3xi32>, index
  return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.flags' must be {each = <number of an operand of type index>, slices = <number>, stride = <number>}, got {each = 1 : i64, stride = 0 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.flags = {each = 1, stride = 0}} : memref<3xi32>, index
  return
}

// -----

shard.grid @ep(shape = 2)
kernel.func @k(%x: memref<3xi32>, %n: index) {
  kernel.return
}
func.func @main(%x: memref<3xi32> {moe.name = "x"}) {
  %n = arith.constant 4 : index
  // expected-error@+2 {{failed to legalize operation 'kernel.launch'}}
  // expected-error@+1 {{'kernel.launch' op 'moe.flags' must be {each = <number of an operand of type index>, slices = <number>, stride = <number>}, got {each = 1 : i64, slice = 2 : i64}}}
  kernel.launch @k(%x, %n) rows(%n) work(%n) {moe.flags = {each = 1, slice = 2}} : memref<3xi32>, index
  return
}

// -----

// Slices with gaps are counted on all ranks.
shard.grid @ep(shape = 4)
shard.grid @etp(shape = 2)
kernel.func @k(%u: memref<562949953421312x1x32x64xf32, strided<[4096, 2048, 64, 1]>>, %n: index) {
  kernel.return
}
func.func @main() {
  // expected-error@+2 {{'moe.parameter' op has more elements on all ranks than an integer holds}}
  // expected-error@+1 {{failed to legalize operation 'moe.parameter'}}
  %u = moe.parameter ["up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 4>, #moe.shard<dim = 1, grid = @etp, ranks = 2>, #moe.pack<columns = 64, pairs = 1>]
      {moe.shape = array<i64: 562949953421312, 64, 32>} : memref<562949953421312x1x32x64xf32, strided<[4096, 2048, 64, 1]>>
  %n = arith.constant 4 : index
  kernel.launch @k(%u, %n) rows(%n) work(%n) : memref<562949953421312x1x32x64xf32, strided<[4096, 2048, 64, 1]>>, index
  return
}
