//===- ConstantBuilder.h - constants of a program's object ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_TARGET_OBJECT_CONSTANTBUILDER_H
#define MOE_MLIR_LIB_TARGET_OBJECT_CONSTANTBUILDER_H

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace moe_mlir {

/// Makes the constants that descriptors consist of.
class ConstantBuilder {
public:
  explicit ConstantBuilder(llvm::Module &llvmModule)
      : llvmModule(llvmModule), context(llvmModule.getContext()), i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)), ptr(llvm::PointerType::get(context, 0)) {}

  llvm::Constant *int32(int64_t value) { return llvm::ConstantInt::getSigned(i32, value); }
  llvm::Constant *int64(int64_t value) { return llvm::ConstantInt::getSigned(i64, value); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(ptr); }

  /// A private constant; its address.
  llvm::GlobalVariable *global(llvm::Constant *init, const llvm::Twine &name) {
    return new llvm::GlobalVariable(llvmModule, init->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                    init, name);
  }
  llvm::Constant *string(llvm::StringRef text) {
    return global(llvm::ConstantDataArray::getString(context, text), "moert.string");
  }
  /// The address of bytes that are aligned as an ELF image wants it.
  llvm::Constant *bytes(llvm::StringRef data, const llvm::Twine &name) {
    llvm::GlobalVariable *variable = global(llvm::ConstantDataArray::getString(context, data, /*AddNull=*/false), name);
    variable->setAlignment(llvm::Align(64));
    return variable;
  }
  /// The address of an array of constants of one type; null if there is none.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> values, const llvm::Twine &name) {
    if (values.empty())
      return null();
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(values[0]->getType(), values.size()), values), name);
  }
  llvm::Constant *structure(llvm::ArrayRef<llvm::Constant *> fields) { return llvm::ConstantStruct::getAnon(fields); }

protected:
  llvm::Module &llvmModule;
  llvm::LLVMContext &context;
  llvm::Type *i32, *i64;
  llvm::PointerType *ptr;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_TARGET_OBJECT_CONSTANTBUILDER_H
