//===- PrecompiledLowering.h - upstream headers that most files of the lowerings to machine code include -*- C++ -*-===//
//
// Compiled once per build (see AddMoe.cmake). Nothing may depend on it: every file includes what it uses.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "Precompiled.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
