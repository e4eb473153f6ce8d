// What a ring, and a map, may be.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

kernel.func @few_stages() {
  // expected-error@+1 {{a ring has 1..64 stages of a multiple of 1024 bytes, up to 232448; this one has 0 of 1024}}
  %ring = cuda.ring fills(4) releases(8) : <stages = 0, bytes = 1024>
  kernel.return
}

// -----

kernel.func @much_memory() {
  // expected-error@+1 {{5 stages need 246784 bytes of shared memory; a block has 232448}}
  %ring = cuda.ring fills(4) releases(8) : <stages = 5, bytes = 49152>
  kernel.return
}

// -----

kernel.func @two_rings() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  // expected-error@+1 {{'cuda.ring' op is the second one of its kernel, which has one}}
  %other = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  kernel.return
}

// -----

kernel.func @no_lag() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 2, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 2, bytes = 1024>
      // expected-error@+1 {{'cuda.announce' op needs a ring of 3 stages: it arrives one step late, and a stage is released one step late}}
      cuda.announce %ring fence(shared) : <stages = 2, bytes = 1024>
      cuda.advance %ring : <stages = 2, bytes = 1024>
      cuda.drain %ring fence(shared) : <stages = 2, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @unknown_size(%x: memref<2x?x96xbf16>) {
  // expected-error@+1 {{'cuda.tensor_map' op has a matrix of dynamic size, of which the number of rows is unknown}}
  %map = cuda.tensor_map %x rows(64) : memref<2x?x96xbf16>
  kernel.return
}

// -----

kernel.func @gaps(%x: memref<4x64xbf16, strided<[128, 1]>>) {
  // expected-error@+1 {{'cuda.tensor_map' op has a matrix with gaps, 'memref<4x64xbf16, strided<[128, 1]>>'; a map takes rows one behind the other}}
  %map = cuda.tensor_map %x rows(64) : memref<4x64xbf16, strided<[128, 1]>>
  kernel.return
}

// -----

kernel.func @box(%x: memref<?x96xbf16>) {
  // expected-error@+1 {{'cuda.tensor_map' op has boxes of 512 rows; a box has 1..256}}
  %map = cuda.tensor_map %x rows(512) : memref<?x96xbf16>
  kernel.return
}

// -----

kernel.func @map_inside(%w: memref<64x64xbf16>) {
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      // expected-error@+1 {{'cuda.tensor_map' op is not at the top level of a kernel, whose arguments maps are}}
      %map = cuda.tensor_map %w rows(64) : memref<64x64xbf16>
    }
  }
  kernel.return
}

// -----

kernel.func @map_of_indices(%w: memref<64x64xindex>) {
  // expected-error@+1 {{'cuda.tensor_map' op has a matrix of 'index'; kernels load f32, bf16 and f16 by maps}}
  %map = cuda.tensor_map %w rows(64) : memref<64x64xindex>
  kernel.return
}

// -----

kernel.func @no_arrivals() {
  // expected-error@+1 {{'cuda.ring' op has barriers that expect no arrivals}}
  %ring = cuda.ring fills(0) releases(4) : <stages = 4, bytes = 8192>
  kernel.return
}

// -----

// expected-error@+1 {{a ring has 1..64 stages of a multiple of 1024 bytes, up to 232448; this one has 4 of 4611686018427387904}}
kernel.func @large(%ring: !cuda.ring<stages = 4, bytes = 4611686018427387904>) {
  kernel.return
}
