// RUN: moe-opt %s --split-input-file --verify-diagnostics --kernel-join-groups

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @rows(%x: memref<8xf32>) {
    kernel.return
  }
  func.func @main(%x: memref<8xf32>, %n: index) {
    // expected-error@+1 {{'kernel.launch_group' op needs 216 blocks at the same time, and the device has 132 multiprocessors, which run one each; give members fewer by 'blocks'}}
    kernel.launch_group {
      kernel.launch @rows(%x) blocks(200) rows(%n) work(%n) : memref<8xf32>
      kernel.launch @rows(%x) rows(%n) work(%n) : memref<8xf32>
    }
    return
  }
}

// -----

module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @rows(%x: memref<8xf32>) {
    kernel.return
  }
  func.func @main(%x: memref<8xf32>, %n: index) {
    kernel.launch_group {
      kernel.launch @rows(%x) rows(%n) work(%n) {moe.phase = "first"} : memref<8xf32>
      // expected-error@+1 {{'kernel.launch' op has an attribute 'moe.phase' of its own, as another member of its group has}}
      kernel.launch @rows(%x) rows(%n) work(%n) {moe.phase = "second"} : memref<8xf32>
    }
    return
  }
}

// -----

// Members, as the pass writes them.
kernel.func @rows(%x: memref<8xf32>) {
  kernel.return
}
kernel.func @of_other_types(%x: memref<4xf32>) {
  // expected-error@+1 {{'cuda.member' op passes 'memref<4xf32>' to @rows, which takes 'memref<8xf32>'}}
  cuda.member @rows(%x) : memref<4xf32>
  kernel.return
}

// -----

kernel.func @rows(%x: memref<8xf32>) {
  kernel.return
}
kernel.func @joined(%x: memref<8xf32>) {
  // expected-error@+1 {{'cuda.member' op has no 'blocks', and neither has another member; one takes those that are left}}
  cuda.member @rows(%x) : memref<8xf32>
  cuda.member @rows(%x) : memref<8xf32>
  kernel.return
}

// -----

kernel.func @joined(%x: memref<8xf32>) {
  // expected-error@+1 {{'cuda.member' op names no kernel: @missing}}
  cuda.member @missing(%x) : memref<8xf32>
  kernel.return
}

// -----

kernel.func @rows(%x: memref<8xf32>) {
  kernel.return
}
kernel.func @joined(%x: memref<8xf32>) {
  // expected-error@+1 {{'cuda.member' op has 0 blocks; a member has at least one}}
  cuda.member @rows(%x) blocks(0) : memref<8xf32>
  kernel.return
}

// -----

kernel.func @rows(%x: memref<8xf32>) {
  kernel.return
}
kernel.func @joined(%x: memref<8xf32>) {
  // expected-error@+1 {{'arith.constant' op stands among cuda.member, which share all blocks of their kernel}}
  %c0 = arith.constant 0 : index
  cuda.member @rows(%x) : memref<8xf32>
  kernel.return
}

// -----

kernel.func @rows(%x: memref<8xf32>) {
  kernel.return
}
kernel.func @inner(%x: memref<8xf32>) {
  cuda.member @rows(%x) : memref<8xf32>
  kernel.return
}
kernel.func @outer(%x: memref<8xf32>) {
  // expected-error@+1 {{'cuda.member' op names @inner, which has members itself}}
  cuda.member @inner(%x) : memref<8xf32>
  kernel.return
}

// -----

func.func @host(%x: memref<8xf32>) {
  // expected-error@+1 {{'cuda.member' op is not at the top level of a kernel, whose blocks members share}}
  "cuda.member"(%x) <{kernel = @rows}> : (memref<8xf32>) -> ()
  return
}
