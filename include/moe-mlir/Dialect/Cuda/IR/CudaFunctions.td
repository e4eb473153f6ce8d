//===- CudaFunctions.td - functions of the device library, and what they are on both sides ------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAFUNCTIONS
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAFUNCTIONS

include "moe-mlir/Dialect/Cuda/IR/CudaAttrs.td"

/// What a function is on the GPU, and what the emulation checks of its use: scripts/update-docs writes both into
/// docs/cuda/functions.md. Of a function that is made of others, in the same text for both sides, nothing is to be
/// said.
class Cuda_Contract {
  string gpu = "";
  string emulation = "";
}

/// A function that a kernel calls without an op of this dialect: for an op of another one, or for a role.
class Cuda_Function<string function, int number, string onGpu = "", string inEmulation = "">
    : I32EnumAttrCase<!toupper(!substr(function, 0, 1)) # !substr(function, 1), number, "moe::" # function>,
      Cuda_Contract {
  let gpu = onGpu;
  let emulation = inEmulation;
}

/// Of f32, by a library of each side.
class Cuda_MathFunction<string function, int number>
    : Cuda_Function<function, number, "`expf` and so on", "by the host's library; the last bits may differ">;

def Cuda_DeviceFunction : Cuda_Enum<"DeviceFunction", "function that kernels call without an op of this dialect", [
  Cuda_Function<"decreaseRegisters", 0, "`setmaxnreg.dec`", "24 to 256 in steps of 8; direction">,
  Cuda_Function<"increaseRegisters", 1, "`setmaxnreg.inc`", "the same; waits until the block has given back enough">,
  Cuda_Function<"threadCount", 2, "`blockDim.x`">,
  Cuda_Function<"syncBlock", 3, "`bar.sync 0`", "deadlock; threads that have ended count as arrived">,
  Cuda_Function<"syncWarp", 4, "`__syncwarp`", "deadlock">,
  Cuda_Function<"shuffleXor", 5, "`shfl.sync.bfly`",
    "all lanes do the same; no lane that has ended is read. No shuffle orders memory">,
  Cuda_Function<"shuffleUp", 6, "`shfl.sync.up`", "the same">,
  Cuda_Function<"broadcast", 7, "`shfl.sync.idx`", "the same">,
  Cuda_Function<"matchWarp", 8, "`match.any.sync`", "the same">,
  Cuda_Function<"countBits", 9, "`popc`">,
  Cuda_Function<"loadGlobal", 10, "`ld.global` of 1 to 16 bytes",
    "inside a registered buffer; alignment; earlier writes of the launch visible">,
  Cuda_Function<"storeGlobal", 11, "`st.global` of 1 to 16 bytes", "the same; the buffer is writable">,
  Cuda_Function<"loadVector", 12>,
  Cuda_Function<"storeVector", 13>,
  Cuda_Function<"element", 14>,
  Cuda_Function<"withElement", 15>,
  Cuda_Function<"toFloat", 16, "`cvt`, or a shift for bf16">,
  Cuda_Function<"fromFloat", 17, "`cvt.rn`: to nearest even; NaN becomes 0x7fff">,
  Cuda_Function<"bitsOf", 47, "the register itself, as `int32_t`">,
  Cuda_MathFunction<"exp", 18>,
  Cuda_MathFunction<"log", 19>,
  Cuda_MathFunction<"tanh", 20>,
  Cuda_MathFunction<"erf", 21>,
  Cuda_MathFunction<"sin", 22>,
  Cuda_MathFunction<"cos", 23>,
  Cuda_MathFunction<"sqrt", 24>,
  Cuda_MathFunction<"rsqrt", 25>,
  Cuda_MathFunction<"expm1", 44>,
  Cuda_MathFunction<"log1p", 45>,
  Cuda_MathFunction<"pow", 46>,
  Cuda_Function<"fmod", 48, "`fmodf`", "exact">,
  Cuda_Function<"abs", 26, "one instruction each">,
  Cuda_Function<"floor", 27, "one instruction each">,
  Cuda_Function<"ceil", 28, "one instruction each">,
  Cuda_Function<"fma", 29, "one instruction each">,
  Cuda_Function<"maximum", 30, "`max.NaN`, `min.NaN`: NaN if an operand is">,
  Cuda_Function<"minimum", 31, "`max.NaN`, `min.NaN`: NaN if an operand is">,
  Cuda_Function<"maximumNumber", 32, "`max`, `min`: the other operand if one is NaN">,
  Cuda_Function<"minimumNumber", 33, "`max`, `min`: the other operand if one is NaN">,
  Cuda_Function<"approximateExp", 34>,
  Cuda_Function<"approximateQuotient", 35>,
  Cuda_Function<"partOf", 36>,
  Cuda_Function<"ownPart", 37>,
  Cuda_Function<"putRow", 38>,
  Cuda_Function<"presentEpoch", 39>,
  Cuda_Function<"nextExchange", 40>,
  Cuda_Function<"signalRank", 41>,
  Cuda_Function<"awaitRank", 42>,
  Cuda_Function<"awaitArrivals", 43>]>;

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAFUNCTIONS
