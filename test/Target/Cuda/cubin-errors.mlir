// RUN: env MOE_NVRTC=/nowhere moe-translate --kernel-to-cubin --split-input-file --verify-diagnostics %s

// expected-error@+1 {{'kernel.target' is not that of a GPU; run kernel-set-target{cuda=sm_90a}}}
module attributes {kernel.target = {columns = 64 : i64, cpu = "znver4", rows = 6 : i64, vector = 16 : i64}} {
  kernel.func @f() {
    kernel.return
  }
}

// -----

// expected-error@+1 {{has 2 kernels; each is a cubin of its own, so give a module with one}}
module attributes {kernel.target = {columns = 128 : i64, cuda = "sm_90a", depth = 64 : i64, rows = 128 : i64, stages = 4 : i64}} {
  kernel.func @f() {
    kernel.return
  }
  kernel.func @g() {
    kernel.return
  }
}

// -----

// expected-error@+1 {{MOE_NVRTC names '/nowhere', where there is no libnvrtc.so}}
module attributes {kernel.target = {columns = 128 : i64, cuda = "sm_90a", depth = 64 : i64, rows = 128 : i64, stages = 4 : i64}} {
  kernel.func @f() {
    kernel.return
  }
}
