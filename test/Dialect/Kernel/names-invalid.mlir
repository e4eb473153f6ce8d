// A kernel's name is a symbol and a word of CUDA text: it cannot be anything else than a name of its own.
// RUN: moe-opt %s --split-input-file --verify-diagnostics

kernel.func @ok_4x4_f32_v2(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'zz(){}\0Aextern \22C\22 __global__ void yy' must be a letter followed by letters, digits and underscores}}
kernel.func @"zz(){}\0Aextern \22C\22 __global__ void yy"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'a b' must be a letter followed by letters, digits and underscores}}
kernel.func @"a b"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'a.b' must be a letter followed by letters, digits and underscores}}
kernel.func @"a.b"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name '\C3\BC' must be a letter followed by letters, digits and underscores}}
kernel.func @"\C3\BC"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name '0abc' must be a letter followed by letters, digits and underscores}}
kernel.func @"0abc"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name '_x' must be a letter followed by letters, digits and underscores}}
kernel.func @"_x"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'llvm.memcpy' must be a letter followed by letters, digits and underscores}}
kernel.func @"llvm.memcpy"(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'int' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @int(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'moe' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @moe(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'exp' is a function of the C library; choose another}}
kernel.func @exp(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'memcpy' is a function of the C library; choose another}}
kernel.func @memcpy(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'malloc' is a function of the C library; choose another}}
kernel.func @malloc(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'printf' is a function of the C library; choose another}}
kernel.func @printf(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'float4' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @float4(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'main' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @main(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'threadIdx' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @threadIdx(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'moert_launch' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @moert_launch(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'moe_run' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @moe_run(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'cudaMalloc' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @cudaMalloc(%x: memref<4xf32>) { kernel.return }

// -----

// expected-error@+1 {{'kernel.func' op name 'static' is a word of C++, CUDA or the runtime; choose another}}
kernel.func @static(%x: memref<4xf32>) { kernel.return }
