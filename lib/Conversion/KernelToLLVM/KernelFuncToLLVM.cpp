//===- KernelFuncToLLVM.cpp - the C signature of kernels ----------------------------------------------------------===//
//
//   kernel.func @f(%x: memref<?x8xf32> {llvm.noalias}, %n: index, %block: index, %blocks: index)
//
// becomes
//
//   llvm.func @f(%args: !llvm.ptr, %block: i64, %blocks: i64)        loads the slots, calls
//   llvm.func internal @f.body(%x: !llvm.ptr {llvm.noalias}, %d0: i64, %n: i64, %block: i64, %blocks: i64)
//
// Windows are addresses and numbers by then (kernel-lower-windows).
//
// The body rebuilds memref descriptors from the pointer and the sizes; they disappear when memref ops are lowered.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Memrefs.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_CONVERTKERNELFUNCTOLLVM
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

namespace {
class FuncLowering {
public:
  FuncLowering(FuncOp func, const LLVMTypeConverter &converter)
      : func(func), converter(converter), b(func), loc(func.getLoc()), ptr(LLVM::LLVMPointerType::get(b.getContext())),
        i64(b.getI64Type()), voidType(LLVM::LLVMVoidType::get(b.getContext())) {}

  LogicalResult run() {
    if (failed(collectSlots()))
      return failure();
    LLVM::LLVMFuncOp body = makeBody();
    makeEntry(body);
    func.erase();
    return success();
  }

private:
  /// The types of the body's parameters: one per slot.
  LogicalResult collectSlots() {
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
      if (auto memref = dyn_cast<MemRefType>(type)) {
        slots.push_back(ptr);
        slots.append(memref.getNumDynamicDims(), i64);
        continue;
      }
      Type lowered = converter.convertType(type);
      bool isNumber = lowered && lowered.isIntOrFloat() && lowered.getIntOrFloatBitWidth() <= 64;
      if (!isNumber && !isa_and_nonnull<LLVM::LLVMPointerType>(lowered))
        return func.emitOpError() << "argument " << i << " of type " << type
                                  << " has no 8-byte slot; kernels take memrefs, windows, integers and floats";
      slots.push_back(lowered);
    }
    ArrayRef<Type> types = func.getArgumentTypes();
    if (types.size() < 2 || !llvm::all_of(types.take_back(2), [](Type type) { return type.isIndex(); }))
      return func.emitOpError("has no block and number of blocks as its last arguments; kernel-distribute-blocks "
                              "adds them");
    return success();
  }

  LLVM::LLVMFuncOp makeBody() {
    auto body = LLVM::LLVMFuncOp::create(b, loc, (func.getName() + ".body").str(),
                                         LLVM::LLVMFunctionType::get(voidType, slots), LLVM::Linkage::Internal);
    body.setAlwaysInline(true);
    Region &region = body.getBody();
    Block *entry = b.createBlock(&region, {}, slots, SmallVector<Location>(slots.size(), loc));
    unsigned slot = 0;
    for (auto [i, argument] : llvm::enumerate(func.getArguments())) {
      if (auto memref = dyn_cast<MemRefType>(argument.getType())) {
        if (func.getArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName()))
          body.setArgAttr(slot, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
        ValueRange values = entry->getArguments().slice(slot, 1 + memref.getNumDynamicDims());
        argument.replaceAllUsesWith(makeMemref(b, loc, converter, memref, values.front(), values.drop_front()));
        slot += values.size();
      } else {
        argument.replaceAllUsesWith(castTo(b, loc, entry->getArgument(slot++), argument.getType()));
      }
    }
    // The first block of the kernel continues the entry block, the others follow.
    Region &old = func.getBody();
    old.front().eraseArguments(0, old.getNumArguments());
    entry->getOperations().splice(entry->end(), old.front().getOperations());
    old.front().erase();
    body.walk([&](ReturnOp ret) {
      OpBuilder builder(ret);
      LLVM::ReturnOp::create(builder, ret.getLoc(), ValueRange());
      ret.erase();
    });
    b.setInsertionPointAfter(body);
    return body;
  }

  void makeEntry(LLVM::LLVMFuncOp body) {
    // The last two slots are the block and the number of blocks.
    auto entry =
        LLVM::LLVMFuncOp::create(b, loc, func.getName(), LLVM::LLVMFunctionType::get(voidType, {ptr, i64, i64}));
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> values;
    for (auto [i, type] : llvm::enumerate(ArrayRef(slots).drop_back(2))) {
      Value address =
          LLVM::GEPOp::create(b, loc, ptr, i64, block->getArgument(0), ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      values.push_back(LLVM::LoadOp::create(b, loc, type, address, /*alignment=*/8));
    }
    values.append({block->getArgument(1), block->getArgument(2)});
    LLVM::CallOp::create(b, loc, body, values);
    LLVM::ReturnOp::create(b, loc, ValueRange());
    b.setInsertionPointAfter(entry);
  }

  FuncOp func;
  const LLVMTypeConverter &converter;
  OpBuilder b;
  Location loc;
  Type ptr, i64, voidType;
  SmallVector<Type> slots;
};

struct ConvertKernelFuncToLLVM : kernel::impl::ConvertKernelFuncToLLVMBase<ConvertKernelFuncToLLVM> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<FuncOp>()))
      if (failed(FuncLowering(func, converter).run()))
        return signalPassFailure();
  }
};
} // namespace
