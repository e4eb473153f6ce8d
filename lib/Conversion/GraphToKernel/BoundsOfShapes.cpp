//===- BoundsOfShapes.cpp - nn and moe ops: one size per symbol -------------------------------------------------===//

#include "Bounds.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// Like moe_mlir::ShapeCheck, for sizes that only a run knows.
class Symbols {
public:
  Symbols(Bounds &bounds, Operation *op) : bounds(bounds), op(op) {}

  void size(StringRef symbol, const SizeExpr &given, const Twine &name) {
    auto [it, isNew] = known.try_emplace(symbol, given, name.str());
    if (!isNew)
      bounds.equal(op, it->second.first, given, symbol + " is {0} in " + it->second.second + " but {1} in " + name);
  }

  void shape(const moe_mlir::NamedShape &shape) {
    int64_t rank = cast<RankedTensorType>(shape.value.getType()).getRank();
    ArrayRef<StringRef> dims = shape.dims;
    int64_t dim = 0;
    if (!dims.empty() && dims.front() == "...") {
      dims = dims.drop_front();
      for (int64_t end = rank - static_cast<int64_t>(dims.size()); dim < end; ++dim)
        size(("dimension " + Twine(dim)).str(), bounds.sizes.size(shape.value, dim), shape.name);
    }
    for (StringRef symbol : dims) {
      SizeExpr given = bounds.sizes.size(shape.value, dim++);
      auto [one, bound] = symbol.split('|');
      if (bound.empty())
        size(symbol, given, shape.name);
      else if (auto it = known.find(bound); it != known.end())
        bounds.equalOrOne(op, it->second.first, given,
                          bound + " is {0} in " + it->second.second + " but {1} in " + shape.name +
                              ", which may have 1 instead");
    }
  }

private:
  Bounds &bounds;
  Operation *op;
  llvm::StringMap<std::pair<SizeExpr, std::string>> known;
};
} // namespace

void mlir::kernel::boundShapes(Bounds &bounds, Operation *op) {
  Symbols symbols(bounds, op);
  // Rows belong to the layout of their dispatch: kernels find them by its places.
  Value layout;
  auto dispatch = dyn_cast<moe::DispatchOp>(op);
  if (dispatch)
    layout = dispatch.getLayout();
  else if (auto expert = dyn_cast<moe::ExpertOp>(op))
    layout = expert.getLayout();
  else if (auto combine = dyn_cast<moe::CombineOp>(op))
    layout = combine.getLayout();
  else if (auto exchange = dyn_cast<moe::AllToAllOp>(op)) {
    layout = exchange.getDispatch().getLayout();
    if (exchange.getInverse())
      symbols.size("S", bounds.sizes.size(exchange.getExchange().getResult(), 0), "the exchange");
  }
  if (layout) {
    std::optional<std::pair<SizeExpr, SizeExpr>> pairs = bounds.sizes.pairs(layout);
    if (!pairs)
      return bounds.wrong(op, "needs a layout that a moe.dispatch of the same function makes");
    symbols.size("T", pairs->first, "the layout");
    if (!dispatch || !dispatch.getTo()) // slots of that layout are ranks, and not those of the ids
      symbols.size("k", pairs->second, "the layout");
    symbols.size("R", pairs->first * pairs->second, "the layout");
  }
  for (const moe_mlir::NamedShape &shape : shapesOf(op))
    symbols.shape(shape);
}
