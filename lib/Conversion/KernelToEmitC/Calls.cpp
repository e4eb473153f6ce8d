//===- Calls.cpp - ops of the cuda dialect as calls of the device library -----------------------------------------===//
//
// Op for op: the op names its function and the template arguments. Nothing here knows what a function does.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mlir::kernel;

LogicalResult Emitter::emitCall(Operation *op) {
  auto callee = dyn_cast<cuda::CallOpInterface>(op);
  if (!callee)
    return failure();
  Location loc = op->getLoc();
  SmallVector<Value> arguments;
  OperandRange operands = op->getOperands();
  for (auto it = operands.begin(); it != operands.end(); ++it) {
    auto memref = dyn_cast<MemRefType>((*it).getType());
    if (!memref) {
      arguments.push_back(get(*it));
      continue;
    }
    // A matrix and the indices that follow it are a pointer.
    Value matrix = *it;
    SmallVector<Value> indices;
    while (std::next(it) != operands.end() && (*std::next(it)).getType().isIndex() &&
           static_cast<int64_t>(indices.size()) < memref.getRank())
      indices.push_back(*++it);
    arguments.push_back(address(op, matrix, indices));
  }
  for (int64_t constant : callee.getConstants())
    arguments.push_back(integer(loc, b.getI32Type(), constant));

  SmallVector<Attribute> parameters;
  for (Attribute parameter : callee.getTemplateArguments()) {
    if (auto name = dyn_cast<StringAttr>(parameter))
      parameter = emitc::OpaqueAttr::get(b.getContext(), name.getValue());
    else if (auto type = dyn_cast<TypeAttr>(parameter))
      parameter = TypeAttr::get(convert(type.getValue()));
    parameters.push_back(parameter);
  }
  SmallVector<Type> results;
  if (op->getNumResults() && !op->use_empty())
    results.push_back(convert(op->getResult(0).getType()));
  auto emitted =
      emitc::CallOpaqueOp::create(b, loc, results, callee.getFunction(), arguments, /*args=*/ArrayAttr(),
                                  parameters.empty() ? ArrayAttr() : b.getArrayAttr(parameters));
  return results.empty() ? success() : set(op, emitted.getResult(0));
}
