//===- AmxBuilder.cpp - instructions of matrix registers ----------------------------------------------------------===//
//
// The registers are named by number here and not left to LLVM's allocator: eight of them hold exactly one step of a
// product, and the number of their rows is a value, which the allocator's types cannot say without a copy per number.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "AmxBuilder.h"

#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;

// Layout of the 64 bytes that ldtilecfg reads (Intel SDM, volume 2, LDTILECFG).
static constexpr int64_t kConfigBytes = 64, kPalette = 0, kBytesPerRow = 16, kRows = 48, kRegisters = 8;

Value AmxBuilder::allocate(MemRefType type) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  return memref::AllocaOp::create(b, loc, type, b.getI64IntegerAttr(64));
}

void AmxBuilder::begin() {
  config = allocate(MemRefType::get({kConfigBytes}, b.getI8Type()));
  current = allocate(MemRefType::get({}, b.getIndexType()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(config.getDefiningOp());
  SmallVector<int8_t> bytes(kConfigBytes);
  bytes[kPalette] = 1;
  for (int64_t reg = 0; reg < kRegisters; ++reg) {
    bytes[kBytesPerRow + 2 * reg] = 64;
    bytes[kRows + reg] = rows;
  }
  auto type = VectorType::get({kConfigBytes}, b.getI8Type());
  Value initial = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  vector::StoreOp::create(b, loc, initial, config, zero);
  memref::StoreOp::create(b, loc, zero, current);
  func.walk([&](ReturnOp end) {
    b.setInsertionPoint(end);
    call("llvm.x86.tilerelease", {});
  });
}

void AmxBuilder::setRows(Value upper, Value lower) {
  Value factor = arith::ConstantIndexOp::create(b, loc, 32);
  Value wanted = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, upper, factor), lower);
  Value differs =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, wanted, memref::LoadOp::create(b, loc, current));
  auto branch = scf::IfOp::create(b, loc, differs);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  memref::StoreOp::create(b, loc, wanted, current);
  for (auto [reg, count] : {std::pair(0, upper), {1, upper}, {4, upper}, {2, lower}, {3, lower}, {5, lower}}) {
    Value byte = arith::IndexCastOp::create(b, loc, b.getI8Type(), count);
    memref::StoreOp::create(b, loc, byte, config, Value(arith::ConstantIndexOp::create(b, loc, kRows + reg)));
  }
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value address = LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), addressOf(config, zero));
  call("llvm.x86.ldtilecfg", address);
}

Value AmxBuilder::addressOf(Value memref, ValueRange indices) {
  auto type = cast<MemRefType>(memref.getType());
  Value offset = arith::ConstantIndexOp::create(b, loc, 0);
  std::optional<SmallVector<int64_t>> strides;
  if (!type.getLayout().isIdentity())
    strides = moe_mlir::fixedStrides(type);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (strides) {
      Value stride = arith::ConstantIndexOp::create(b, loc, (*strides)[dim]);
      offset = arith::AddIOp::create(b, loc, offset, arith::MulIOp::create(b, loc, index, stride));
      continue;
    }
    Value size = type.isDynamicDim(dim) ? memref::DimOp::create(b, loc, memref, dim).getResult()
                                        : arith::ConstantIndexOp::create(b, loc, type.getDimSize(dim)).getResult();
    if (dim)
      offset = arith::MulIOp::create(b, loc, offset, size);
    offset = arith::AddIOp::create(b, loc, offset, index);
  }
  Value bytes = arith::ConstantIndexOp::create(b, loc, type.getElementTypeBitWidth() / 8);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  Value address = arith::AddIOp::create(b, loc, base, arith::MulIOp::create(b, loc, offset, bytes));
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
}

Value AmxBuilder::i64(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }

Value AmxBuilder::number(int64_t reg) { return LLVM::ConstantOp::create(b, loc, b.getI8Type(), reg); }

void AmxBuilder::fetch(Value address, int level) {
  Value pointer = LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), address);
  LLVM::Prefetch::create(b, loc, pointer, /*rw=*/0, /*hint=*/level == 1 ? 3 : 2, /*cache=*/1);
}

void AmxBuilder::call(StringRef intrinsic, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(intrinsic), operands);
}

void AmxBuilder::move(StringRef intrinsic, int64_t reg, Value address, Value stride) {
  Value pointer = LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), address);
  call(intrinsic, {number(reg), pointer, stride});
}
