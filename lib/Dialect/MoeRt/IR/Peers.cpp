//===- Peers.cpp - moert_peers of moert.h, in LLVM ----------------------------------------------------------------===//

#include "moe-mlir/Dialect/MoeRt/IR/Peers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::moert;

namespace {
/// The order of the fields in moert.h.
enum Field : int32_t { Base, Rank, Ranks, Epoch, Abort, Status, Patience, Waits, Notes, Hosts };
} // namespace

/// A load that no store of a program changes: it may be moved out of loops.
static Value loadFixed(OpBuilder &b, Location loc, Type type, Value address) {
  auto load = LLVM::LoadOp::create(b, loc, type, address);
  load.setInvariant(true);
  return load;
}

Value Peers::field(int32_t index, Type type) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
  auto layout = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                 {ptr, i32, i32, ptr, ptr, ptr, b.getI64Type(), ptr, ptr, ptr});
  Value address = LLVM::GEPOp::create(b, loc, ptr, layout, pointer, ArrayRef<LLVM::GEPArg>{0, index});
  return loadFixed(b, loc, type, address);
}

Value Peers::rank() { return LLVM::SExtOp::create(b, loc, b.getI64Type(), field(Rank, b.getI32Type())); }

Value Peers::epoch() { return field(Epoch, LLVM::LLVMPointerType::get(b.getContext())); }

Value Peers::hosts() { return field(Hosts, LLVM::LLVMPointerType::get(b.getContext())); }

Value Peers::address(Value offset, Value peer) {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());
  if (!peer)
    peer = rank();
  Value bases = field(Base, ptr);
  Value base = loadFixed(b, loc, ptr, LLVM::GEPOp::create(b, loc, ptr, ptr, bases, ArrayRef<LLVM::GEPArg>{peer}));
  return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
}
