//===- KernelOps.cpp - syntax and verifiers of the kernel ops -----------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::kernel;

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Type input : type.getInputs())
    block.addArgument(input, state.location);
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult FuncOp::verify() {
  if (std::string why = whyNotName(getName()); !why.empty()) {
    std::string shown;
    llvm::raw_string_ostream os(shown);
    llvm::printEscapedString(getName().take_front(80), os);
    return emitOpError() << "name '" << shown << "' " << why;
  }
  if (getFunctionType().getNumResults())
    return emitOpError("has no results; a kernel writes to its arguments");
  for (auto [i, type] : llvm::enumerate(getFunctionType().getInputs()))
    if (auto memref = dyn_cast<MemRefType>(type);
        memref && !memref.getLayout().isIdentity() && !moe_mlir::fixedStrides(memref))
      return emitOpError() << "argument " << i << " must be a contiguous row-major memref, or have sizes and strides "
                           << "that are numbers and no offset, got " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getKernelAttr());
  if (!callee)
    return emitOpError() << "names no kernel: " << getKernelAttr();
  TypeRange expected = callee.getFunctionType().getInputs(), actual = getOperands_().getTypes();
  if (expected.size() != actual.size())
    return emitOpError() << "passes " << actual.size() << " arguments to " << getKernelAttr() << ", which takes "
                         << expected.size();
  for (auto [i, e, a] : llvm::enumerate(expected, actual))
    if (e != a)
      return emitOpError() << "argument " << i << " of " << getKernelAttr() << " is " << a << ", expected " << e;
  if (uint64_t phases = getPhases().value_or(1); phases > 1 && callee.getBody().getOps<PhaseOp>().empty())
    return emitOpError() << "has " << phases << " phases, but " << getKernelAttr()
                         << " does not ask for its phase (kernel.phase): it would do its work " << phases << " times";
  return success();
}

//===----------------------------------------------------------------------===//
// RowTileOp, RowIndicesOp
//===----------------------------------------------------------------------===//

LogicalResult RowTileOp::verify() {
  int64_t max = getMaxAttr().getInt();
  if (max < 1)
    return emitOpError() << "max must be at least 1, got " << max;
  // A tile of another height would be left out when the region is specialised for fewer rows, and write beyond them.
  WalkResult tiles = getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto acc = dyn_cast<AccType>(type);
      auto rows = dyn_cast<RowsType>(type);
      int64_t height = acc ? acc.getRows() : rows ? rows.getCount() : max;
      if (height != max) {
        op->emitOpError() << "makes a tile of " << height << " rows inside a row_tile of " << max;
        return WalkResult::interrupt();
      }
    }
    return isa<RowTileOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(tiles.wasInterrupted());
}

LogicalResult RowIndicesOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex())
    return emitOpError("region takes one index argument");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 || !yield.getValues()[0].getType().isIndex())
    return emitOpError("region must yield one index");
  return success();
}

LogicalResult LoadTileOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  AccType result = getResult().getType();
  if (source.getElementType() != result.getElement())
    return emitOpError() << "source must hold " << result.getElement() << ", got " << source;
  if (!source.isDynamicDim(1) && source.getDimSize(1) < result.getColumns())
    return emitOpError() << "source has " << source.getDimSize(1) << " columns, fewer than the tile's "
                         << result.getColumns();
  return success();
}

//===----------------------------------------------------------------------===//
// MmaOp: kernel.mma %acc, %a[%rows, %k], %b[%i..., %k, %column] : acc, a, b
//===----------------------------------------------------------------------===//

int64_t MmaOp::getStep() {
  auto b = cast<MemRefType>(getB().getType());
  bool hasDepth = b.getRank() == static_cast<int64_t>(getIndices().size()) + 3;
  return hasDepth ? b.getShape().back() : 1;
}

ParseResult MmaOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand acc, a, rows, k, b;
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  Type accType, aType, bType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(acc) || parser.parseComma() || parser.parseOperand(a) || parser.parseLSquare() ||
      parser.parseOperand(rows) || parser.parseComma() || parser.parseOperand(k) || parser.parseRSquare() ||
      parser.parseComma() || parser.parseOperand(b) ||
      parser.parseOperandList(indices, OpAsmParser::Delimiter::Square) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(accType) || parser.parseComma() ||
      parser.parseType(aType) || parser.parseComma() || parser.parseType(bType))
    return failure();
  if (indices.size() < 2)
    return parser.emitError(loc, "b needs the indices [..., k, column]");
  if (indices[indices.size() - 2].name != k.name || indices[indices.size() - 2].number != k.number)
    return parser.emitError(loc, "a and b must step over the same k");
  auto accTile = dyn_cast<AccType>(accType);
  if (!accTile)
    return parser.emitError(loc, "expected a !kernel.acc");
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  Type rowsType = RowsType::get(builder.getContext(), accTile.getRows());
  OpAsmParser::UnresolvedOperand column = indices.pop_back_val();
  indices.pop_back();
  if (parser.resolveOperand(acc, accType, result.operands) || parser.resolveOperand(a, aType, result.operands) ||
      parser.resolveOperand(rows, rowsType, result.operands) || parser.resolveOperand(b, bType, result.operands) ||
      parser.resolveOperands(indices, index, result.operands) || parser.resolveOperand(k, index, result.operands) ||
      parser.resolveOperand(column, index, result.operands))
    return failure();
  result.addTypes(accType);
  return success();
}

void MmaOp::print(OpAsmPrinter &printer) {
  printer << " " << getAcc() << ", " << getA() << "[" << getRows() << ", " << getK() << "], " << getB() << "[";
  for (Value index : getIndices())
    printer << index << ", ";
  printer << getK() << ", " << getColumn() << "]";
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getAcc().getType() << ", " << getA().getType() << ", " << getB().getType();
}

LogicalResult MmaOp::verify() {
  auto a = cast<MemRefType>(getA().getType()), b = cast<MemRefType>(getB().getType());
  if (a.getRank() != 2)
    return emitOpError() << "a must be a matrix, got " << a;
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "a and b must have one element type, got " << a.getElementType() << " and "
                         << b.getElementType();
  if (getRows().getType().getCount() != getAcc().getType().getRows())
    return emitOpError("rows and accumulators must have the same number of rows");
  int64_t leading = getIndices().size();
  bool hasDepth = b.getRank() == leading + 3 && b.getShape().back() > 1 && llvm::isPowerOf2_64(b.getShape().back());
  if (!hasDepth && b.getRank() != leading + 2)
    return emitOpError()
           << "b needs " << leading
           << " leading dimensions, then steps of k, columns and at most a power of two of elements per step; got "
           << b;
  int64_t columns = b.getShape()[leading + 1];
  if (!ShapedType::isDynamic(columns) && columns < getAcc().getType().getColumns())
    return emitOpError() << "b has " << columns << " columns, fewer than the tile's "
                         << getAcc().getType().getColumns();
  return success();
}

//===----------------------------------------------------------------------===//
// StoreTileOp: kernel.store_tile %acc, ... -> %dest[%leading..., %rows, %column] limit(%n) {...} : (accs), dest
//===----------------------------------------------------------------------===//

ParseResult StoreTileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> accs, indices;
  OpAsmParser::UnresolvedOperand dest, limit;
  SmallVector<Type> accTypes;
  Type destType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(accs) || parser.parseArrow() || parser.parseOperand(dest) ||
      parser.parseOperandList(indices, OpAsmParser::Delimiter::Square))
    return failure();
  bool hasLimit = succeeded(parser.parseOptionalKeyword("limit"));
  if (hasLimit && (parser.parseLParen() || parser.parseOperand(limit) || parser.parseRParen()))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body) || parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseLParen() || parser.parseTypeList(accTypes) || parser.parseRParen() || parser.parseComma() ||
      parser.parseType(destType))
    return failure();
  if (indices.size() < 2 || accTypes.empty() || !isa<AccType>(accTypes[0]))
    return parser.emitError(loc, "expected accumulators and dest[..., rows, column]");
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  Type rowsType = RowsType::get(builder.getContext(), cast<AccType>(accTypes[0]).getRows());
  OpAsmParser::UnresolvedOperand column = indices.pop_back_val(), rows = indices.pop_back_val();
  if (parser.resolveOperands(accs, accTypes, loc, result.operands) ||
      parser.resolveOperand(dest, destType, result.operands) ||
      parser.resolveOperands(indices, index, result.operands) ||
      parser.resolveOperand(rows, rowsType, result.operands) || parser.resolveOperand(column, index, result.operands))
    return failure();
  if (hasLimit && parser.resolveOperand(limit, index, result.operands))
    return failure();
  result.getOrAddProperties<StoreTileOp::Properties>().operandSegmentSizes = {
      static_cast<int32_t>(accs.size()), 1, static_cast<int32_t>(indices.size()), 1, 1, hasLimit ? 1 : 0};
  return success();
}

void StoreTileOp::print(OpAsmPrinter &printer) {
  printer << " " << getAccs() << " -> " << getDest() << "[";
  for (Value index : getLeading())
    printer << index << ", ";
  printer << getRows() << ", " << getColumn() << "]";
  if (getLimit())
    printer << " limit(" << getLimit() << ")";
  printer << " ";
  printer.printRegion(getBody());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getOperandSegmentSizesAttrName()});
  printer << " : (" << getAccs().getTypes() << "), " << getDest().getType();
}

LogicalResult StoreTileOp::verify() {
  if (getAccs().empty())
    return emitOpError("stores at least one accumulator");
  auto first = cast<AccType>(getAccs()[0].getType());
  for (Value acc : getAccs())
    if (acc.getType() != first)
      return emitOpError("accumulators must have one shape");
  if (getRows().getType().getCount() != first.getRows())
    return emitOpError("rows and accumulators must have the same number of rows");
  auto dest = cast<MemRefType>(getDest().getType());
  if (dest.getRank() != static_cast<int64_t>(getLeading().size()) + 2)
    return emitOpError() << "dest must have rank " << getLeading().size() + 2 << ", got " << dest;
  Block &block = getBody().front();
  if (block.getNumArguments() != getAccs().size() + 2 || !block.getArgument(0).getType().isIndex() ||
      !block.getArgument(1).getType().isIndex())
    return emitOpError() << "region takes (row: index, column: index) and " << getAccs().size() << " value(s)";
  for (BlockArgument arg : block.getArguments().drop_front(2))
    if (arg.getType() != first.getElement())
      return emitOpError() << "region's values must be " << first.getElement();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 || yield.getValues()[0].getType() != dest.getElementType())
    return emitOpError() << "region must yield one " << dest.getElementType();
  return success();
}
