// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s
// RUN: moe-opt %s --convert-kernel-to-emitc | moe-translate --mlir-to-cpp | FileCheck %s --check-prefix=TEXT

// Each op once, in an order in which it could stand, and the call that it is.
// CHECK-LABEL: kernel.func @every
// CHECK:       cuda.tensor_map %{{.*}} rows(64) : memref<2x128x64xbf16>
// CHECK:       cuda.ring fills(129) releases(4) : <stages = 3, bytes = 32768>
// CHECK:       cuda.warp_roles {
// CHECK-NEXT:    cuda.role @copy warps(4) registers(40) {
// CHECK:           cuda.expect %{{.*}} bytes(16384) : <stages = 3, bytes = 32768>
// CHECK:           cuda.tma_load %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : <stages = 3, bytes = 32768>
// CHECK:           cuda.copy_async %{{.*}}[%{{.*}}] -> %{{.*}}, %{{.*}} : memref<101xbf16>
// CHECK:         cuda.role @compute warps(4) registers(200) {
// TEXT:        void every(moe::Bf16* [[X:v[0-9]+]], int64_t [[SIZE:v[0-9]+]], moe::Bf16* [[W:v[0-9]+]], float* [[F:v[0-9]+]], moe::Bf16* [[Y:v[0-9]+]], const __grid_constant__ CUtensorMap [[MAP:v[0-9]+]]) {
// TEXT:        // Launch: 256 threads, 99328 bytes of shared memory.
// TEXT-NEXT:   // Map [[MAP]]: argument 2 as 256 x 64, boxes of 64 rows.
// TEXT:        moe::StageRing<3, 32768> [[RING:v[0-9]+]] = moe::makeRing<3, 32768, 129, 4>();
// TEXT:        if ({{v[0-9]+}}
// TEXT:          moe::decreaseRegisters<40>();
// TEXT:          moe::blockIndex();
// TEXT:          moe::blockCount();
// TEXT:          [[TILE:v[0-9]+]] = moe::firstTile({{v[0-9]+}});
// TEXT:          moe::tileRow([[TILE]],
// TEXT:          moe::tileColumn([[TILE]],
// TEXT:          [[STAGE:v[0-9]+]] = moe::acquire([[RING]]);
// TEXT:          moe::expect<16384>([[RING]]);
// TEXT:          moe::loadBox([[RING]], [[STAGE]], [[MAP]],
// TEXT:          [[TO:v[0-9]+]] = moe::swizzle([[STAGE]],
// TEXT:          moe::copyAsync([[TO]],
// TEXT:          [[CHUNK:v[0-9]+]] = moe::loadEight(
// TEXT:          moe::storeShared([[TO]], [[CHUNK]]);
// TEXT:          [[FOUR:v[0-9]+]] = moe::loadFour(
// TEXT:          moe::storeShared([[TO]], [[FOUR]]);
// TEXT:          moe::arriveCopied([[RING]]);
// TEXT:          moe::advance([[RING]]);
// TEXT:          moe::endCopies();
// TEXT:        } else {
// TEXT:          moe::decreaseRegisters<200>();
// TEXT:          [[ACC:v[0-9]+]] = moe::accumulators<64>();
// TEXT:          [[STAGE:v[0-9]+]] = moe::await([[RING]]);
// TEXT:          moe::fenceProxy<moe::ProxyFence::All>();
// TEXT:          [[D:v[0-9]+]] = moe::matrixDescriptor([[STAGE]],
// TEXT:          [[NEXT:v[0-9]+]] = moe::advanceK([[D]],
// TEXT:          moe::wgmmaFence();
// TEXT:          moe::wgmmaF16([[ACC]], [[D]], [[NEXT]],
// TEXT:          moe::wgmmaCommit();
// TEXT:          moe::wgmmaWait<0>([[ACC]]);
// TEXT:          moe::loadShared<moe::Vector<float, 4>>([[STAGE]]);
// TEXT:          moe::releaseRead<moe::ProxyFence::Shared>([[RING]]);
// TEXT:          moe::advance([[RING]]);
// TEXT:          moe::fragmentRow(
// TEXT:          moe::fragmentColumn(
// TEXT:          [[V:v[0-9]+]] = moe::get([[ACC]],
// TEXT:          moe::set([[ACC]], {{.*}}, [[V]]);
// TEXT:          moe::storePair(
kernel.func @every(%x: memref<?x101xbf16>, %w: memref<2x128x64xbf16>, %f: memref<8x4xf32>, %y: memref<8x8xbf16>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %true = arith.constant true
  %map = cuda.tensor_map %w rows(64) : memref<2x128x64xbf16>
  %ring = cuda.ring fills(129) releases(4) : <stages = 3, bytes = 32768>
  cuda.warp_roles {
    cuda.role @copy warps(4) registers(40) {
      %block = cuda.block_index
      %blocks = cuda.block_count
      %before = arith.addi %block, %blocks : i32
      %tile = cuda.first_tile %before
      %row = cuda.tile_row %tile of %eight, %eight
      %column = cuda.tile_column %tile of %eight, %eight
      %stage = cuda.acquire %ring : <stages = 3, bytes = 32768>
      %thread = cuda.thread_index
      %first = arith.cmpi eq, %thread, %zero : i32
      scf.if %first {
        cuda.expect %ring bytes(16384) : <stages = 3, bytes = 32768>
        cuda.tma_load %ring, %stage, %map[%row, %column] : <stages = 3, bytes = 32768>
      }
      %to = cuda.swizzle %stage
      %r = cuda.row %x[%c0] : memref<?x101xbf16> -> memref<101xbf16>
      cuda.copy_async %r[%c0] -> %to, %eight : memref<101xbf16>
      %chunk = cuda.load_eight %r[%zero] end %eight : memref<101xbf16>
      cuda.store_shared %chunk -> %to
      %s = cuda.row %f[%c0] : memref<8x4xf32> -> memref<4xf32>
      %four = cuda.load_four %s[%zero] end %eight : memref<4xf32>
      cuda.store_shared %four -> %to
      cuda.arrive_copied %ring : <stages = 3, bytes = 32768>
      cuda.advance %ring : <stages = 3, bytes = 32768>
      cuda.end_copies
    }
    cuda.role @compute warps(4) registers(200) {
      %acc = cuda.accumulators : <64>
      %stage = cuda.await %ring : <stages = 3, bytes = 32768>
      cuda.fence_proxy fence(all)
      %d = cuda.descriptor %stage
      %next = cuda.advance_k %d bytes(32)
      cuda.wgmma_fence
      cuda.wgmma_f16 %acc, %d, %next, %true : <64>
      cuda.wgmma_commit
      cuda.wgmma_wait pending(0) %acc : !cuda.accumulators<64>
      %v = cuda.load_shared %stage : vector<4xf32>
      %e = vector.extract %v[1] : f32 from vector<4xf32>
      cuda.release_read %ring fence(shared) : <stages = 3, bytes = 32768>
      cuda.advance %ring : <stages = 3, bytes = 32768>
      %thread = cuda.thread_index
      %i = cuda.fragment_row %thread, %zero
      %j = cuda.fragment_column %thread, %zero
      %element = arith.addi %i, %j : i32
      %g = cuda.get %acc[%element] : <64>
      cuda.set %g -> %acc[%zero] : <64>
      %b = arith.truncf %e : f32 to bf16
      cuda.store_pair %b, %b -> %y[%c0, %c0] : memref<8x8xbf16>, bf16, bf16
    }
  }
  kernel.return
}

// Blocks of a launch that two kernels share; threads that meet, and one that counts.
// CHECK-LABEL: kernel.func @arrive
// CHECK:         cuda.meet barrier(3) threads(64)
// CHECK-NEXT:    cuda.count_arrival %{{.*}}[%{{.*}}] part %{{.*}} of %{{.*}} : memref<2xi32>
// CHECK-LABEL: kernel.func @arrive_twice
// CHECK-NEXT:    cuda.member @arrive(%{{.*}}) : memref<2xi32>
// CHECK-NEXT:    cuda.member @arrive(%{{.*}}) blocks(2) : memref<2xi32>
// TEXT-NOT:    void arrive(
// TEXT:        void arrive_twice(int32_t* [[DONE:v[0-9]+]], int32_t* [[OTHER:v[0-9]+]]) {
// TEXT-COUNT-2:  moe::syncNamed(3, 64);
// TEXT:          moe::countArrival([[PLACE:v[0-9]+]],
kernel.func @arrive(%done: memref<2xi32>) {
  %c1 = arith.constant 1 : index
  %part = arith.constant 0 : i32
  %parts = arith.constant 4 : i32
  cuda.meet barrier(3) threads(64)
  cuda.count_arrival %done[%c1] part %part of %parts : memref<2xi32>
  kernel.return
}
kernel.func @arrive_twice(%done: memref<2xi32>, %other: memref<2xi32>) {
  cuda.member @arrive(%done) : memref<2xi32>
  cuda.member @arrive(%other) blocks(2) : memref<2xi32>
  kernel.return
}
