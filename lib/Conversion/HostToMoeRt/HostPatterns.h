//===- HostPatterns.h - ops of the host program to calls of the runtime -------------------------------------------===//

#ifndef MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_HOSTPATTERNS_H
#define MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_HOSTPATTERNS_H

#include "Interface.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::moert {

/// State that the patterns share: the context argument and the table of parameters.
struct HostState {
  Value context;
  ParameterTable *parameters;
};

/// A memref of type `type` over `data`, from runtime values (i64) for its dynamic sizes.
Value makeMemref(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value data,
                 ValueRange dynamicSizes);

/// Parameters, launches, the arena and checks to ops of `moert`; `state` outlives the patterns.
void populateHostPatterns(const LLVMTypeConverter &converter, HostState &state, RewritePatternSet &patterns);

} // namespace mlir::moert

#endif // MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_HOSTPATTERNS_H
