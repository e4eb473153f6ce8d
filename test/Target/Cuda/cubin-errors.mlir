// RUN: env MOE_NVRTC=/nowhere moe-translate --kernel-to-cubin --split-input-file --verify-diagnostics %s

// expected-error@+1 {{'kernel.target' is for CPU 'znver4'; make the kernels from level spmd for a GPU (moe-spmd-to-scheduled=target=cuda:sm_90a)}}
module attributes {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16>} {
  kernel.func @f() {
    kernel.return
  }
}

// -----

// expected-error@+1 {{has 2 kernels; each is a cubin of its own, so give a module with one}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @f() {
    kernel.return
  }
  kernel.func @g() {
    kernel.return
  }
}

// -----

// expected-error@+1 {{MOE_NVRTC names '/nowhere', where there is no libnvrtc.so}}
module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 128, depth = 64, activation = approximate>} {
  kernel.func @f() {
    kernel.return
  }
}
