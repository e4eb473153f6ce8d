//===- UntrustedIr.h - IR that nobody vouches for -------------------------------------------------------*- C++ -*-===//
//
// MLIR's parser, its printer and the verifiers recurse, and a few lines of aliases can stand for attributes that no
// memory holds when they are printed. A linear look at the text finds what they would not survive.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_UNTRUSTEDIR_H
#define MOE_MLIR_SUPPORT_UNTRUSTEDIR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace moe_mlir {

/// Checks a text before it is parsed: brackets are nested at most 200 deep, an expression of an affine map has at most
/// 1000 operators, also with aliases written out; the text then grows at most 64-fold; a shape has at most 64 dimensions;
/// elements of dense arrays have a width, and groups of a reshape have dimensions; values of regions stay in them
/// (`checkValueNames`). Refuses bytecode, whose reader trusts what it reads. Errors are one line without the name of the
/// text, and `line` is the line that they are about.
llvm::Error checkIrText(llvm::StringRef text, unsigned &line);

/// Checks that no value is used further up than the region that defines it, outside of it. No such text verifies, but
/// where it has an error as well, parsers of MLIR (of scf.index_switch, tensor.generate and others) free the region and
/// leave the use. How ops name what they give to their regions is for their parsers to say: a name that may be such an
/// argument is not looked at.
llvm::Error checkValueNames(llvm::StringRef text, unsigned &line);

/// Whether the static sizes alone make more elements than a machine can hold (2^44).
bool hasTooManyElements(llvm::ArrayRef<int64_t> sizes);

/// Emits an error if a type of the module has too many elements: later, numbers of bytes would overflow. Looks at the
/// types of values and of attributes, before anything is verified or folded.
mlir::LogicalResult checkTypeSizes(mlir::ModuleOp module);

/// Parses a text that `checkIrText` lets pass, looks at its types and verifies it. Null if any error was emitted: not all
/// of those of MLIR's lexer, such as a text without its second quote, stop its parser.
mlir::OwningOpRef<mlir::ModuleOp> parseIr(llvm::SourceMgr &sources, mlir::MLIRContext *context);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_UNTRUSTEDIR_H
