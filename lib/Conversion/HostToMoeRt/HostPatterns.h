//===- HostPatterns.h - ops of the host program to calls of the runtime -------------------------------------------===//

#ifndef MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_HOSTPATTERNS_H
#define MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_HOSTPATTERNS_H

#include "Axes.h"
#include "Interface.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::moert {

/// State that the patterns share: the context argument, the table of parameters and the axes.
struct HostState {
  Value context;
  ParameterTable *parameters;
  const Axes *axes;
};

/// A memref of type `type` over `data`, from runtime values (i64) for its dynamic sizes.
Value makeMemref(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value data,
                 ValueRange dynamicSizes);

/// Whether the host program of a GPU can read its elements there, of which a remark tells, and bring its constants. Emits
/// an error if not.
LogicalResult checkDeviceValues(LLVM::LLVMFuncOp function);

/// Parameters, the arena, constants, elements that are read, and checks to ops of `moert`; `state` outlives the patterns.
void populateHostPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns);

/// Launches and groups of them to ops of `moert`; `state` outlives the patterns.
void populateLaunchPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns);

/// Ranks and windows to ops of `moert`, and their types to those of LLVM; `state` outlives the patterns.
void populateWindowPatterns(LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns);

/// What a window stands for in the slots of a launch.
SmallVector<Value> unpackWindow(OpBuilder &b, Location loc, Value window);

/// Says before each launch of `function` what it is for, as its attribute `moe.phase` says, where that changes. Emits an
/// error if it does not fit.
LogicalResult insertPhases(LLVM::LLVMFuncOp function, Value context);

/// Reports what a launch sends, as its attribute `moe.traffic` says, behind it. `operands` are those of the launch after
/// conversion. Emits an error if the attribute does not fit.
LogicalResult reportTraffic(kernel::LaunchOp launch, ValueRange operands, const LLVMTypeConverter &converter,
                            HostState &state, OpBuilder &b);

/// Says in front of a launch what the flags count for which it waits, as its attribute `moe.flags` does. Emits an error
/// if the attribute does not fit.
LogicalResult announceFlags(kernel::LaunchOp launch, HostState &state, ConversionPatternRewriter &rewriter);

} // namespace mlir::moert

#endif // MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_HOSTPATTERNS_H
