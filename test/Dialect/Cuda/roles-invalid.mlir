// RUN: moe-opt %s --split-input-file --verify-diagnostics

kernel.func @wait_removed() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.arrive %ring : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
    cuda.role @multiply warps(8) registers(224) {
      // expected-error@+1 {{'cuda.release' op is in a role that never waits for the stage (cuda.await)}}
      cuda.release %ring back(0) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @one_of_two_waits_removed(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      scf.for %i = %c0 to %n step %c1 {
        %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
        cuda.arrive %ring : <stages = 4, bytes = 1024>
        cuda.advance %ring : <stages = 4, bytes = 1024>
      }
      scf.for %i = %c0 to %n step %c1 {
        // expected-error@+1 {{'cuda.arrive' op is in no step: no cuda.acquire of its ring stands before it in the same block}}
        cuda.arrive %ring : <stages = 4, bytes = 1024>
        cuda.advance %ring : <stages = 4, bytes = 1024>
      }
    }
    cuda.role @multiply warps(8) registers(224) {
      scf.for %i = %c0 to %n step %c1 {
        %stage = cuda.await %ring : <stages = 4, bytes = 1024>
        cuda.release %ring back(0) : <stages = 4, bytes = 1024>
        cuda.advance %ring : <stages = 4, bytes = 1024>
      }
    }
  }
  kernel.return
}

// -----

kernel.func @not_announced() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      // expected-error@+1 {{'cuda.acquire' op gets a stage that no warp of the role announces (cuda.announce, cuda.arrive, ..)}}
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @too_few_arrivals() {
  %ring = cuda.ring fills(5) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      // expected-error@+1 {{'cuda.acquire' op gets a stage for which 4 arrivals follow; its barrier expects 5}}
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.arrive %ring : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @not_drained() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      // expected-error@+1 {{'cuda.announce' op puts off arrivals that no cuda.drain at the end of the role makes up for}}
      cuda.announce %ring fence(shared) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @copies_not_ended() {
  %ring = cuda.ring fills(128) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      // expected-error@+1 {{'cuda.arrive_copied' op leaves arrivals to copies for which no cuda.end_copies waits in the role}}
      cuda.arrive_copied %ring : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @not_advanced() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @load warps(4) registers(56) {
      // expected-error@+1 {{'cuda.acquire' op is followed by no cuda.advance of its ring in the same block}}
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.arrive %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @not_released() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @multiply warps(8) registers(224) {
      // expected-error@+1 {{'cuda.await' op waits for a stage that is never released (cuda.release or cuda.release_read)}}
      %stage = cuda.await %ring : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @last_not_released(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @multiply warps(8) registers(224) {
      scf.for %i = %c0 to %n step %c1 {
        // expected-error@+1 {{'cuda.await' op waits for stages of which the last one is never released (cuda.release after the loop)}}
        %stage = cuda.await %ring : <stages = 4, bytes = 1024>
        %later = arith.cmpi ne, %i, %c0 : index
        scf.if %later {
          cuda.release %ring back(1) : <stages = 4, bytes = 1024>
        }
        cuda.advance %ring : <stages = 4, bytes = 1024>
      }
    }
  }
  kernel.return
}

// -----

kernel.func @too_many_releases() {
  %ring = cuda.ring fills(4) releases(4) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    cuda.role @multiply warps(8) registers(224) {
      // expected-error@+1 {{'cuda.await' op waits for a stage that 8 arrivals release; its barrier expects 4}}
      %stage = cuda.await %ring : <stages = 4, bytes = 1024>
      cuda.release_read %ring fence(shared) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @not_filled() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    // expected-error@+1 {{'cuda.role' op waits for stages of a ring that no role fills}}
    cuda.role @multiply warps(8) registers(224) {
      %stage = cuda.await %ring : <stages = 4, bytes = 1024>
      cuda.release %ring back(0) : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @not_read() {
  %ring = cuda.ring fills(4) releases(8) : <stages = 4, bytes = 1024>
  cuda.warp_roles {
    // expected-error@+1 {{'cuda.role' op fills stages of a ring that no role reads}}
    cuda.role @load warps(4) registers(56) {
      %stage = cuda.acquire %ring : <stages = 4, bytes = 1024>
      cuda.arrive %ring : <stages = 4, bytes = 1024>
      cuda.advance %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

// A multiprocessor has 65536, but a thread starts with a multiple of 8.
kernel.func @registers() {
  // expected-error@+1 {{'cuda.warp_roles' op has roles that need 65536 registers; a block of 384 threads starts with 64512}}
  cuda.warp_roles {
    cuda.role @load warps(4) registers(64) {
    }
    cuda.role @multiply warps(8) registers(224) {
    }
  }
  kernel.return
}

// -----

kernel.func @registers_of_a_role() {
  cuda.warp_roles {
    // expected-error@+1 {{'cuda.role' op has 60 registers; a role has multiples of 8 in 24..240}}
    cuda.role @load warps(4) registers(60) {
    }
  }
  kernel.return
}

// -----

kernel.func @warps_of_a_role() {
  cuda.warp_roles {
    // expected-error@+1 {{'cuda.role' op has 3 warps; registers are given to groups of 4}}
    cuda.role @load warps(3) registers(56) {
    }
  }
  kernel.return
}

// -----

kernel.func @warps() {
  // expected-error@+1 {{'cuda.warp_roles' op has 36 warps; a block has 32 at most}}
  cuda.warp_roles {
    cuda.role @idle warps(20) registers(24) {
    }
    cuda.role @load warps(16) registers(24) {
    }
  }
  kernel.return
}

// -----

kernel.func @names() {
  cuda.warp_roles {
    cuda.role @load warps(4) registers(24) {
    }
    // expected-error@+1 {{'cuda.role' op has the name of another role, 'load'}}
    cuda.role @load warps(4) registers(24) {
    }
  }
  kernel.return
}

// -----

kernel.func @work_among_roles() {
  cuda.warp_roles {
    // expected-error@+1 {{'cuda.block_index' op is among roles; all that warps do belongs to a cuda.role}}
    %block = cuda.block_index
  }
  kernel.return
}

// -----

kernel.func @inside(%b: i1) {
  scf.if %b {
    // expected-error@+1 {{'cuda.warp_roles' op is not at the top level of a kernel}}
    cuda.warp_roles {
      cuda.role @load warps(4) registers(24) {
      }
    }
  }
  kernel.return
}

// -----

kernel.func @two_lists() {
  cuda.warp_roles {
    cuda.role @a warps(4) registers(56) {
    }
  }
  // expected-error@+1 {{'cuda.warp_roles' op is the second one of its kernel, which has one}}
  cuda.warp_roles {
    cuda.role @a warps(8) registers(56) {
    }
  }
  kernel.return
}

// -----

kernel.func @outside() {
  %ring = cuda.ring fills(5) releases(4) : <stages = 4, bytes = 8192>
  // expected-error@+1 {{'cuda.acquire' op failed to verify that it is in a role, on a ring that a cuda.ring makes}}
  %s = cuda.acquire %ring : <stages = 4, bytes = 8192>
  kernel.return
}

// -----

kernel.func @argument(%ring: !cuda.ring<stages = 4, bytes = 1024>) {
  cuda.warp_roles {
    cuda.role @a warps(4) registers(56) {
      // expected-error@+1 {{'cuda.await' op failed to verify that it is in a role, on a ring that a cuda.ring makes}}
      %s = cuda.await %ring : <stages = 4, bytes = 1024>
    }
  }
  kernel.return
}

// -----

kernel.func @many_warps() {
  cuda.warp_roles {
    // expected-error@+1 {{'cuda.role' op has 288230376151711744 warps; a block has 32 at most}}
    cuda.role @a warps(288230376151711744) registers(56) {
    }
  }
  kernel.return
}

// -----

kernel.func @four_warpgroups(%d: i64, %true: i1) {
  cuda.warp_roles {
    cuda.role @load warps(4) registers(40) {
    }
    cuda.role @multiply warps(8) registers(208) {
      %narrow = cuda.accumulators : <128>
      cuda.wgmma_bf16 %narrow, %d, %d, %true : <128>
      %wide = cuda.accumulators : <256>
      // expected-error@+1 {{'cuda.wgmma_bf16' op has 256 columns, of which a thread holds 128 accumulators; in a block of 512 threads it starts with 128 registers: lower 'columns' of 'kernel.target'}}
      cuda.wgmma_bf16 %wide, %d, %d, %true : <256>
    }
    cuda.role @count warps(4) registers(24) {
    }
  }
  kernel.return
}
