//===- Descriptor.cpp - the program descriptor as LLVM globals ----------------------------------------------------===//
//
// The structs mirror moert_model.h field by field; a test compiles the header and compares.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Descriptor.h"
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h"
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"
#include "moe-mlir/Weights/Dtype.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

#include "moert/moert_model.h"

using namespace mlir;
using namespace moe_mlir;

namespace {
class DescriptorBuilder {
public:
  DescriptorBuilder(ModuleOp module, llvm::Module &llvmModule, const CpuObjectOptions &options,
                    const kernel::CpuTarget &target)
      : module(module), llvmModule(llvmModule), options(options), target(target), context(llvmModule.getContext()),
        i32(llvm::Type::getInt32Ty(context)), i64(llvm::Type::getInt64Ty(context)),
        ptr(llvm::PointerType::get(context, 0)) {}

  LogicalResult run();

private:
  LogicalResult error(const Twine &message) { return emitError(module.getLoc()) << message; }

  llvm::Constant *int32(int64_t value) { return llvm::ConstantInt::getSigned(i32, value); }
  llvm::Constant *int64(int64_t value) { return llvm::ConstantInt::getSigned(i64, value); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(ptr); }

  /// A private constant; its address.
  llvm::Constant *global(llvm::Constant *init, const Twine &name) {
    auto *variable = new llvm::GlobalVariable(llvmModule, init->getType(), /*isConstant=*/true,
                                              llvm::GlobalValue::PrivateLinkage, init, name);
    return variable;
  }
  llvm::Constant *string(StringRef text) {
    return global(llvm::ConstantDataArray::getString(context, text), "moert.string");
  }
  /// The address of an array of constants of one type; null if there is none.
  llvm::Constant *array(ArrayRef<llvm::Constant *> values, const Twine &name) {
    if (values.empty())
      return null();
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(values[0]->getType(), values.size()), values), name);
  }
  llvm::Constant *structure(ArrayRef<llvm::Constant *> fields) { return llvm::ConstantStruct::getAnon(fields); }

  FailureOr<llvm::Constant *> sizes(MemRefType type, ArrayRef<int64_t> symbols, StringRef name);
  FailureOr<llvm::Constant *> value(DictionaryAttr entry);
  FailureOr<llvm::Constant *> parameter(DictionaryAttr entry);
  FailureOr<llvm::Constant *> generation(DictionaryAttr program);
  /// All entries of the array `name` of the program.
  LogicalResult list(DictionaryAttr program, StringRef name, SmallVectorImpl<llvm::Constant *> &out);

  ModuleOp module;
  llvm::Module &llvmModule;
  const CpuObjectOptions &options;
  const kernel::CpuTarget &target;
  llvm::LLVMContext &context;
  llvm::Type *i32, *i64;
  llvm::PointerType *ptr;
};
} // namespace

FailureOr<llvm::Constant *> DescriptorBuilder::sizes(MemRefType type, ArrayRef<int64_t> symbols, StringRef name) {
  if (type.getRank() > MOERT_MAX_RANK)
    return error("'" + name + "' has rank " + Twine(type.getRank()) + "; the runtime's limit is " +
                 Twine(MOERT_MAX_RANK));
  if (symbols.size() != static_cast<size_t>(type.getNumDynamicDims()))
    return error("'" + name + "' has " + Twine(type.getNumDynamicDims()) + " dynamic dimensions and " +
                 Twine(symbols.size()) + " symbols");
  SmallVector<uint64_t> values(MOERT_MAX_RANK);
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    values[d] = size;
    if (ShapedType::isDynamic(size)) {
      values[d] = -(1 + symbols.front());
      symbols = symbols.drop_front();
    }
  }
  return llvm::ConstantDataArray::get(context, values);
}

FailureOr<llvm::Constant *> DescriptorBuilder::value(DictionaryAttr entry) {
  auto name = entry.getAs<StringAttr>("name");
  auto type = entry.getAs<TypeAttr>("type");
  auto memref = type ? dyn_cast<MemRefType>(type.getValue()) : MemRefType();
  auto dims = entry.getAs<DenseI64ArrayAttr>("dims");
  if (!name || !memref || !dims)
    return error("'moert.program' has a value without name, type or dims");
  std::optional<moert_dtype> dtype = dtypeOf(memref.getElementType());
  if (!dtype)
    return emitError(module.getLoc()) << "'" << name.getValue() << "' has elements of type " << memref.getElementType()
                                      << ", which the runtime does not have";
  FailureOr<llvm::Constant *> extents = sizes(memref, dims, name);
  if (failed(extents))
    return failure();
  auto integer = [&](StringRef field, int64_t otherwise) {
    auto attr = entry.getAs<IntegerAttr>(field);
    return attr ? attr.getInt() : otherwise;
  };
  return structure({string(name), int32(*dtype), int32(memref.getRank()), *extents, int64(integer("lo", 0)),
                    int64(integer("hi", -1)), int32(integer("symbol", -1)), int32(entry.contains("uniform"))});
}

FailureOr<llvm::Constant *> DescriptorBuilder::parameter(DictionaryAttr entry) {
  auto key = entry.getAs<StringAttr>("key");
  auto type = entry.getAs<TypeAttr>("type");
  auto memref = type ? dyn_cast<MemRefType>(type.getValue()) : MemRefType();
  if (!key || !memref)
    return error("'moert.program' has a parameter without key or type");
  std::optional<moert_dtype> dtype = dtypeOf(memref.getElementType());
  if (!dtype)
    return emitError(module.getLoc()) << "parameter '" << key.getValue() << "' has elements of type "
                                      << memref.getElementType() << ", which the runtime does not have";
  FailureOr<llvm::Constant *> extents = sizes(memref, {}, key);
  if (failed(extents))
    return failure();
  return structure({string(key), int32(*dtype), int32(memref.getRank()), *extents});
}

LogicalResult DescriptorBuilder::list(DictionaryAttr program, StringRef name, SmallVectorImpl<llvm::Constant *> &out) {
  auto entries = program.getAs<ArrayAttr>(name);
  if (!entries)
    return error("'moert.program' has no list of " + name);
  for (Attribute attr : entries) {
    auto entry = dyn_cast<DictionaryAttr>(attr);
    if (!entry)
      return error("'moert.program' has an entry of " + name + " that is no dictionary");
    FailureOr<llvm::Constant *> constant = name == "parameters" ? parameter(entry) : value(entry);
    if (failed(constant))
      return failure();
    out.push_back(*constant);
  }
  return success();
}

FailureOr<llvm::Constant *> DescriptorBuilder::generation(DictionaryAttr program) {
  auto attr = module->getAttrOfType<DictionaryAttr>("moe.generation");
  if (!attr || !attr.contains("tokens") || !attr.contains("position") || !attr.contains("logits"))
    return null();
  auto find = [&](StringRef field, StringRef listName, int32_t &number) -> LogicalResult {
    number = -1;
    auto wanted = attr.getAs<StringAttr>(field);
    if (!wanted)
      return success();
    for (auto [i, entry] : llvm::enumerate(program.getAs<ArrayAttr>(listName)))
      if (cast<DictionaryAttr>(entry).getAs<StringAttr>("name") == wanted)
        number = i;
    if (number < 0)
      return error("'moe.generation' names '" + wanted.getValue() + "' as " + field + ", but no entry of " + listName +
                   " has that name");
    return success();
  };
  int32_t tokens, position, keep, logits;
  if (failed(find("tokens", "inputs", tokens)) || failed(find("position", "inputs", position)) ||
      failed(find("keep", "inputs", keep)) || failed(find("logits", "outputs", logits)))
    return failure();
  // Generation fills these inputs itself; with others (forced experts, plain caches) the program runs by --input only.
  if (program.getAs<ArrayAttr>("inputs").size() != (keep < 0 ? 2u : 3u))
    return null();
  int32_t vocabulary = MOERT_VOCAB_NONE;
  if (auto kind = attr.getAs<StringAttr>("vocabulary")) {
    vocabulary = llvm::StringSwitch<int32_t>(kind)
                     .Case("bytes", MOERT_VOCAB_BYTES)
                     .Case("ids", MOERT_VOCAB_IDS)
                     .Default(MOERT_VOCAB_NONE);
  }
  auto integer = [&](StringRef field) {
    auto value = attr.getAs<IntegerAttr>(field);
    return value ? value.getInt() : 0;
  };
  SmallVector<llvm::Constant *> eos;
  if (auto ids = attr.getAs<ArrayAttr>("eos"))
    for (Attribute id : ids)
      if (auto number = dyn_cast<IntegerAttr>(id))
        eos.push_back(int64(number.getInt()));
  return global(structure({int32(tokens), int32(position), int32(keep), int32(logits), int32(vocabulary),
                           int64(integer("vocab_size")), int64(integer("cache_length")), int32(eos.size()),
                           array(eos, "moert.eos")}),
                "moert.generation");
}

LogicalResult DescriptorBuilder::run() {
  auto program = module->getAttrOfType<DictionaryAttr>(moert::programAttrName);
  if (!program)
    return error("module has no 'moert.program' attribute; run convert-host-to-moert first");
  llvm::Function *host = llvmModule.getFunction(moert::hostFunctionName);
  llvm::GlobalVariable *kernels = llvmModule.getGlobalVariable(moert::kernelTableName, /*AllowInternal=*/true);
  if (!host || !kernels)
    return error("module has no host function @" + moert::hostFunctionName);
  SmallVector<llvm::Constant *> inputs, outputs, states, symbols, parameters;
  if (failed(list(program, "inputs", inputs)) || failed(list(program, "outputs", outputs)) ||
      failed(list(program, "states", states)) || failed(list(program, "parameters", parameters)))
    return failure();
  if (auto names = program.getAs<ArrayAttr>("symbols"))
    for (Attribute name : names)
      symbols.push_back(string(cast<StringAttr>(name)));
  FailureOr<llvm::Constant *> generationInfo = generation(program);
  if (failed(generationInfo))
    return failure();
  auto name = module->getAttrOfType<StringAttr>("moe.name");
  std::string buildId = options.buildId.empty() ? std::string(32, '0') : options.buildId;
  auto kernelCount = cast<llvm::ArrayType>(kernels->getValueType())->getNumElements();
  llvm::Constant *descriptor = structure({int32(MOERT_ABI_VERSION),
                                          int32(MOERT_CPU),
                                          string(name ? name.getValue() : "model"),
                                          string("main"),
                                          string(buildId),
                                          string(options.compiler),
                                          string(options.targetCpu.empty() ? target.cpu : options.targetCpu),
                                          string(cpuinfoFeatures(target)),
                                          string(options.weightsPath),
                                          int32(inputs.size()),
                                          int32(outputs.size()),
                                          int32(states.size()),
                                          int32(parameters.size()),
                                          int32(symbols.size()),
                                          int32(kernelCount),
                                          array(inputs, "moert.inputs"),
                                          array(outputs, "moert.outputs"),
                                          array(states, "moert.states"),
                                          array(symbols, "moert.symbols"),
                                          array(parameters, "moert.parameters"),
                                          kernels,
                                          *generationInfo,
                                          null(),
                                          host});
  SmallVector<llvm::Constant *> programs = {global(descriptor, "moert.program")};
  llvm::Constant *programList =
      structure({int32(MOERT_ABI_VERSION), int32(programs.size()), array(programs, "moert.programs")});
  // Writable in the file's eyes (its pointers are relocated), constant for the program.
  new llvm::GlobalVariable(llvmModule, programList->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                           programList, "moert_model_programs");
  return success();
}

LogicalResult moe_mlir::addDescriptor(ModuleOp module, llvm::Module &llvmModule, const CpuObjectOptions &options,
                                      const kernel::CpuTarget &target) {
  return DescriptorBuilder(module, llvmModule, options, target).run();
}
