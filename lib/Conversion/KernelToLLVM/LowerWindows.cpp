//===- LowerWindows.cpp - windows as addresses --------------------------------------------------------------------===//
//
// A window that a kernel takes becomes what stands in its slots: the address of moert_peers, a byte offset, and the
// number of rows if that is dynamic. Rank p's part begins at base[p] + offset.
//
// A block is one thread, so its program order is the order of its writes: a store with release order behind them is a
// signal. A wait is a call of the runtime, which gives the processor to other ranks and notices when one is lost. The
// launch goes on then with what it finds, and the runtime ends the call after it.
//
// What is stored for a rank of another host lies in a mirror of its window here, and the runtime is told of it, as of
// the signal behind it: calls behind one test of a pointer, which is null where all ranks share a host.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Memrefs.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/MoeRt/IR/Peers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELLOWERWINDOWS
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

namespace {
/// The arguments that a window becomes.
struct Slots {
  Value peers, offset;
  SmallVector<Value, 1> sizes;
};

class OpLowering {
public:
  OpLowering(Operation *op, const Slots &slots, const LLVMTypeConverter &converter)
      : op(op), slots(slots), converter(converter), b(op), loc(op->getLoc()), peers(b, loc, slots.peers) {}

  LogicalResult run() {
    LogicalResult lowered = success();
    if (auto part = dyn_cast<PartOp>(op))
      lowered = lower(part);
    else if (auto put = dyn_cast<PutOp>(op))
      lowered = lower(put);
    else if (auto epoch = dyn_cast<EpochOp>(op))
      epoch.replaceAllUsesWith(LLVM::LoadOp::create(b, loc, b.getI32Type(), peers.epoch()).getResult());
    else if (auto signal = dyn_cast<SignalOp>(op))
      lowered = lower(signal);
    else if (auto await = dyn_cast<AwaitOp>(op))
      lowered = lower(await);
    else if (isa<AdvanceOp>(op))
      lowerAdvance();
    else
      return op->emitOpError("uses a window, which only ops of the kernel dialect can do");
    if (succeeded(lowered))
      op->erase();
    return lowered;
  }

private:
  LogicalResult lower(PartOp part) {
    Value peer = part.getPeer() ? toI64(part.getPeer()) : Value();
    Value data = peers.address(slots.offset, peer);
    if (peer)
      for (Operation *user : part.getPart().getUsers())
        if (failed(tellOf(user, part, data)))
          return failure();
    part.replaceAllUsesWith(makeMemref(b, loc, converter, part.getPart().getType(), data, slots.sizes));
    return success();
  }

  /// Tells of a store to an element of another rank's part, which begins at `data`.
  LogicalResult tellOf(Operation *user, PartOp part, Value data) {
    auto store = dyn_cast<memref::StoreOp>(user);
    if (!store || store.getMemRef() != part.getPart())
      return user->emitOpError() << "uses another rank's part of a window, to which only memref.store may write";
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(store);
    MemRefType type = part.getPart().getType();
    Value place;
    for (auto [index, size] : llvm::zip_equal(store.getIndices(), type.getShape())) {
      Value at = toI64(index);
      place = place ? LLVM::AddOp::create(b, loc, LLVM::MulOp::create(b, loc, place, constant(size)), at) : at;
    }
    Value bytes = constant(type.getElementTypeBitWidth() / 8);
    return tell(toI64(part.getPeer()), advance(data, LLVM::MulOp::create(b, loc, place, bytes)), bytes);
  }

  LogicalResult lower(PutOp put) {
    Value bytes = constant(put.getWindow().getType().getRowBytes());
    auto rowAt = [&](Value base, Value row) {
      return advance(base, LLVM::MulOp::create(b, loc, toI64(row), bytes));
    };
    Value peer = toI64(put.getPeer());
    Value to = rowAt(peers.address(slots.offset, peer), put.getTo());
    Value from = rowAt(addressOf(b, loc, converter, put.getSource()), put.getRow());
    LLVM::MemcpyOp::create(b, loc, to, from, bytes, /*isVolatile=*/false);
    return tell(peer, to, bytes);
  }

  LogicalResult lower(SignalOp signal) {
    Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
    Type nothing = LLVM::LLVMVoidType::get(b.getContext());
    FailureOr<LLVM::LLVMFuncOp> raise = function("moert_raise", {ptr, i32, ptr, i32}, nothing);
    if (failed(raise))
      return failure();
    Value peer = toI64(signal.getPeer()), flag = flagAt(peers.address(slots.offset, peer), signal.getIndex());
    auto branch = scf::IfOp::create(b, loc, TypeRange(), areApart(), /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      LLVM::CallOp::create(b, loc, *raise,
                           ValueRange{slots.peers, LLVM::TruncOp::create(b, loc, i32, peer), flag, signal.getEpoch()});
      b.setInsertionPointToStart(branch.elseBlock());
      LLVM::StoreOp::create(b, loc, signal.getEpoch(), flag, /*alignment=*/4, /*isVolatile=*/false,
                            /*isNonTemporal=*/false, /*isInvariantGroup=*/false, LLVM::AtomicOrdering::release);
    }
    return success();
  }

  /// Whether some ranks are on another host.
  Value areApart() {
    Value hosts = peers.hosts(), none = LLVM::ZeroOp::create(b, loc, hosts.getType());
    return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, hosts, none);
  }

  /// Behind a store of `bytes` bytes at `to`, in the windows of rank `peer`.
  LogicalResult tell(Value peer, Value to, Value bytes) {
    Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
    Type nothing = LLVM::LLVMVoidType::get(b.getContext());
    FailureOr<LLVM::LLVMFuncOp> stored = function("moert_stored", {ptr, i32, ptr, b.getI64Type()}, nothing);
    if (failed(stored))
      return failure();
    auto branch = scf::IfOp::create(b, loc, TypeRange(), areApart(), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    LLVM::CallOp::create(b, loc, *stored, ValueRange{slots.peers, LLVM::TruncOp::create(b, loc, i32, peer), to, bytes});
    return success();
  }

  /// A function of the runtime.
  FailureOr<LLVM::LLVMFuncOp> function(StringRef name, ArrayRef<Type> arguments, Type result) {
    return LLVM::lookupOrCreateFn(b, op->getParentOfType<ModuleOp>(), name, arguments, result);
  }

  LogicalResult lower(AwaitOp await) {
    Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
    FailureOr<LLVM::LLVMFuncOp> wait = function("moert_await", {ptr, ptr, i32, i32, b.getI64Type()}, i32);
    if (failed(wait))
      return failure();
    Value flag = flagAt(peers.address(slots.offset, Value()), await.getIndex());
    Value peer = LLVM::TruncOp::create(b, loc, i32, toI64(await.getPeer()));
    LLVM::CallOp::create(b, loc, *wait,
                         ValueRange{slots.peers, flag, await.getEpoch(), peer, toI64(await.getIndex())});
    return success();
  }

  void lowerAdvance() {
    Value address = peers.epoch(), epoch = LLVM::LoadOp::create(b, loc, b.getI32Type(), address);
    Value one = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(1));
    LLVM::StoreOp::create(b, loc, LLVM::AddOp::create(b, loc, epoch, one), address);
  }

  Value toI64(Value index) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); }

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value));
  }

  Value advance(Value address, Value bytes) {
    return LLVM::GEPOp::create(b, loc, address.getType(), b.getI8Type(), address, ArrayRef<LLVM::GEPArg>{bytes});
  }

  Value flagAt(Value base, Value index) {
    return LLVM::GEPOp::create(b, loc, base.getType(), b.getI32Type(), base, ArrayRef<LLVM::GEPArg>{toI64(index)});
  }

  Operation *op;
  const Slots &slots;
  const LLVMTypeConverter &converter;
  OpBuilder b;
  Location loc;
  moert::Peers peers;
};

struct KernelLowerWindows : kernel::impl::KernelLowerWindowsBase<KernelLowerWindows> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    for (auto func : getOperation().getOps<FuncOp>())
      if (failed(run(func, converter)))
        return signalPassFailure();
  }

private:
  LogicalResult run(FuncOp func, const LLVMTypeConverter &converter) {
    Type ptr = LLVM::LLVMPointerType::get(&getContext()), i64 = IntegerType::get(&getContext(), 64);
    for (unsigned i = func.getNumArguments(); i-- > 0;) {
      auto type = dyn_cast<WindowType>(func.getArgument(i).getType());
      if (!type)
        continue;
      SmallVector<Type> types = {ptr, i64};
      types.append(type.isDynamic(), i64);
      for (auto [next, slot] : llvm::enumerate(types))
        if (failed(func.insertArgument(i + 1 + next, slot, DictionaryAttr(), func.getLoc())))
          return failure();
      Slots slots{func.getArgument(i + 1), func.getArgument(i + 2), {}};
      if (type.isDynamic())
        slots.sizes.push_back(func.getArgument(i + 3));
      for (Operation *user : llvm::make_early_inc_range(func.getArgument(i).getUsers()))
        if (failed(OpLowering(user, slots, converter).run()))
          return failure();
      if (failed(func.eraseArgument(i)))
        return failure();
    }
    return success();
  }
};
} // namespace
