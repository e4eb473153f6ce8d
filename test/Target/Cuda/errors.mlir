// RUN: moe-translate --kernel-to-cuda --split-input-file --verify-diagnostics %s

// expected-error@+1 {{has no kernels; CUDA C++ is made of the kernel level (moe-compile --to=kernel)}}
module {
}
