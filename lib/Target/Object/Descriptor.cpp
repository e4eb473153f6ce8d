//===- Descriptor.cpp - the program descriptor as LLVM globals ----------------------------------------------------===//
//
// The structs mirror moert_model.h field by field; a test compiles the header and compares.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Descriptor.h"
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h"
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h"
#include "moe-mlir/Weights/Dtype.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringSet.h"

#include "moert/moert_model.h"

using namespace mlir;
using namespace moe_mlir;

namespace {
class DescriptorBuilder : ConstantBuilder {
public:
  DescriptorBuilder(const ProgramModule &source, ModuleOp module, llvm::Module &llvmModule,
                    const ObjectOptions &options, x86::TargetAttr target)
      : ConstantBuilder(llvmModule), source(source), module(module), options(options), target(target) {}

  LogicalResult run(SmallVectorImpl<Descriptor> &descriptors);

private:
  LogicalResult error(const Twine &message) { return emitError(module.getLoc()) << message; }

  FailureOr<llvm::Constant *> sizes(MemRefType type, ArrayRef<int64_t> symbols, StringRef name);
  FailureOr<llvm::Constant *> value(DictionaryAttr entry);
  FailureOr<llvm::Constant *> parameter(DictionaryAttr entry);
  /// Reads `moert.axes` into `ranks`.
  LogicalResult readAxes();
  /// The numbers in an entry's `axes`, which is -1 or an axis.
  FailureOr<ArrayRef<int64_t>> axesOf(DictionaryAttr entry, StringRef name, MemRefType type);
  /// The axes on which the ranks of a program stand, by bit: all, or those of a variant.
  FailureOr<uint32_t> variantAxes(DictionaryAttr program);
  /// All entries of a list of dictionaries, called `name`.
  LogicalResult list(ArrayAttr entries, StringRef name, SmallVectorImpl<llvm::Constant *> &out);
  /// `shared`: what the programs of a module have in common.
  struct Shared {
    SmallVector<llvm::Constant *> parameters;
    llvm::GlobalVariable *kernels;
    llvm::Constant *parameterTable, *cuda, *axes;
  };
  FailureOr<llvm::Constant *> program(LLVM::LLVMFuncOp function, DictionaryAttr attr, const Shared &shared);

  const ProgramModule &source;
  ModuleOp module;
  const ObjectOptions &options;
  x86::TargetAttr target;
  SmallVector<int64_t> ranks; ///< of each axis
  SmallVector<llvm::Constant *> axes;
};
} // namespace

LogicalResult DescriptorBuilder::readAxes() {
  auto list = module->getAttrOfType<ArrayAttr>(moert::axesAttrName);
  if (!list)
    return success();
  for (Attribute attr : list) {
    auto entry = dyn_cast<DictionaryAttr>(attr);
    auto name = entry ? entry.getAs<StringAttr>("name") : StringAttr();
    auto count = entry ? entry.getAs<IntegerAttr>("ranks") : IntegerAttr();
    auto stride = entry ? entry.getAs<IntegerAttr>("stride") : IntegerAttr();
    if (!name || name.empty() || !count || count.getInt() < 1 || count.getInt() > INT32_MAX || !stride ||
        stride.getInt() < 1 || stride.getInt() > INT32_MAX)
      return error("'" + moert::axesAttrName + "' has an entry without name, ranks or stride");
    if (ranks.size() == MOERT_MAX_AXES)
      return error("'" + moert::axesAttrName + "' has more than " + Twine(MOERT_MAX_AXES) + " entries");
    ranks.push_back(count.getInt());
    axes.push_back(structure({string(name), int32(count.getInt()), int32(stride.getInt())}));
  }
  return success();
}

FailureOr<ArrayRef<int64_t>> DescriptorBuilder::axesOf(DictionaryAttr entry, StringRef name, MemRefType type) {
  Attribute attr = entry.get("axes");
  if (!attr)
    return ArrayRef<int64_t>();
  auto axes = dyn_cast<DenseI64ArrayAttr>(attr);
  int64_t count = ranks.size();
  if (!axes || type.getRank() == 0 ||
      !llvm::all_of(axes.asArrayRef(), [&](int64_t axis) { return axis >= -1 && axis < count; }))
    return error("'" + name + "' is divided along an axis that '" + moert::axesAttrName + "' does not have");
  return axes.asArrayRef();
}

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
  FailureOr<ArrayRef<int64_t>> axes = axesOf(entry, name, memref);
  if (failed(extents) || failed(axes))
    return failure();
  SmallVector<llvm::Constant *> ranges;
  if (Attribute attr = entry.get("dim_ranges")) {
    auto bounds = dyn_cast<DenseI64ArrayAttr>(attr);
    if (!bounds || static_cast<int64_t>(bounds.size()) != 2 * memref.getRank())
      return error("'dim_ranges' of '" + name.getValue() + "' of rank " + Twine(memref.getRank()) +
                   " must hold two numbers for each dimension");
    for (int64_t d = 0; d < memref.getRank(); ++d)
      if (bounds[2 * d] < 0 || bounds[2 * d] > bounds[2 * d + 1])
        return error("'dim_ranges' of '" + name.getValue() + "' holds no size for dimension " + Twine(d));
    for (int64_t bound : bounds.asArrayRef())
      ranges.push_back(int64(bound));
  }
  uint32_t bits = 0;
  for (int64_t axis : *axes)
    bits |= axis >= 0 ? 1u << axis : 0;
  auto integer = [&](StringRef field, int64_t otherwise) {
    auto attr = entry.getAs<IntegerAttr>(field);
    return attr ? attr.getInt() : otherwise;
  };
  return structure({string(name), int32(*dtype), int32(memref.getRank()), *extents, int64(integer("lo", 0)),
                    int64(integer("hi", -1)), int32(integer("symbol", -1)), int32(entry.contains("uniform")),
                    int32(bits), array(ranges, "moert.dim_ranges"), int32(1 + integer("index_of", -1))});
}

FailureOr<llvm::Constant *> DescriptorBuilder::parameter(DictionaryAttr entry) {
  auto key = entry.getAs<StringAttr>("key");
  auto type = entry.getAs<TypeAttr>("type");
  auto memref = type ? dyn_cast<MemRefType>(type.getValue()) : MemRefType();
  if (!key || !memref)
    return error("'moert.parameters' has an entry without key or type");
  std::optional<moert_dtype> dtype = dtypeOf(memref.getElementType());
  if (!dtype)
    return emitError(module.getLoc()) << "parameter '" << key.getValue() << "' has elements of type "
                                      << memref.getElementType() << ", which the runtime does not have";
  FailureOr<llvm::Constant *> extents = sizes(memref, {}, key);
  FailureOr<ArrayRef<int64_t>> axes = axesOf(entry, key, memref);
  if (failed(extents) || failed(axes))
    return failure();
  if (axes->size() > std::min<size_t>(MOERT_DIVIDED_DIMS, memref.getRank()))
    return error("parameter '" + key.getValue() + "' of rank " + Twine(memref.getRank()) + " names axes for " +
                 Twine(axes->size()) + " dimensions; ranks can share the first " + Twine(MOERT_DIVIDED_DIMS));
  SmallVector<uint32_t> numbers(MOERT_DIVIDED_DIMS, -1);
  for (auto [d, axis] : llvm::enumerate(*axes)) {
    numbers[d] = axis;
    if (axis >= 0 && memref.getDimSize(d) % ranks[axis])
      return error("parameter '" + key.getValue() + "' has " + Twine(memref.getDimSize(d)) +
                   " elements in dimension " + Twine(d) + ", which " + Twine(ranks[axis]) +
                   " ranks cannot share equally");
    if (d > 0 && axis >= 0 && ((*axes)[0] < 0 || (*axes)[0] == axis || memref.getDimSize(0) != ranks[(*axes)[0]]))
      return error("parameter '" + key.getValue() + "' is divided along dimension 1, so each rank needs one element of "
                                                    "dimension 0");
  }
  auto slices = entry.getAs<DenseI64ArrayAttr>("slices");
  if (slices && (slices.size() != 2 || slices[0] < 0 || slices[0] >= static_cast<int64_t>(ranks.size()) ||
                 slices[1] < 1 || slices[1] > memref.getNumElements() / ranks[slices[0]]))
    return error("parameter '" + key.getValue() + "' has slices of an axis that '" + moert::axesAttrName +
                 "' does not have, or outside of it");
  return structure({string(key), int32(*dtype), int32(memref.getRank()), *extents,
                    llvm::ConstantDataArray::get(context, numbers), int32(slices ? slices[0] : -1),
                    int64(slices ? slices[1] : 0)});
}

LogicalResult DescriptorBuilder::list(ArrayAttr entries, StringRef name, SmallVectorImpl<llvm::Constant *> &out) {
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

FailureOr<uint32_t> DescriptorBuilder::variantAxes(DictionaryAttr program) {
  auto numbers = program.getAs<DenseI64ArrayAttr>("axes");
  if (!numbers)
    return (1u << axes.size()) - 1;
  uint32_t bits = 0;
  for (int64_t axis : numbers.asArrayRef()) {
    if (axis < 0 || axis >= static_cast<int64_t>(axes.size()))
      return error("'moert.program' has an axis that '" + moert::axesAttrName + "' does not have");
    bits |= 1u << axis;
  }
  return bits;
}

FailureOr<llvm::Constant *> DescriptorBuilder::program(LLVM::LLVMFuncOp function, DictionaryAttr attr,
                                                       const Shared &shared) {
  auto ownEntry = attr.getAs<StringAttr>("entry"), variant = attr.getAs<StringAttr>("variant");
  StringRef entry = ownEntry ? ownEntry.getValue() : moert::entryOf(function.getName());
  FailureOr<uint32_t> ownAxes = variantAxes(attr);
  if (failed(ownAxes))
    return failure();
  SmallVector<llvm::Constant *> inputs, outputs, states, symbols;
  if (failed(list(attr.getAs<ArrayAttr>("inputs"), "inputs", inputs)) ||
      failed(list(attr.getAs<ArrayAttr>("outputs"), "outputs", outputs)) ||
      failed(list(attr.getAs<ArrayAttr>("states"), "states", states)))
    return failure();
  if (auto names = attr.getAs<ArrayAttr>("symbols"))
    for (Attribute name : names)
      symbols.push_back(string(cast<StringAttr>(name)));
  llvm::Constant *generationInfo = null();
  if (entry == "main") {
    FailureOr<llvm::Constant *> found = makeGeneration(*this, module, attr);
    if (failed(found))
      return failure();
    generationInfo = *found;
  }
  auto name = module->getAttrOfType<StringAttr>("moe.name");
  auto idOf = [](StringRef id) { return id.empty() ? std::string(32, '0') : id.str(); };
  auto kernelCount = cast<llvm::ArrayType>(shared.kernels->getValueType())->getNumElements();
  return structure({int32(MOERT_ABI_VERSION),
                    int32(source.cuda ? MOERT_CUDA : MOERT_CPU),
                    string(name ? name.getValue() : "model"),
                    string(entry),
                    string(idOf(source.buildId)),
                    string(idOf(source.weightsId)),
                    string(options.compiler),
                    string(target.getCpu()),
                    string(cpuinfoFeatures(target)),
                    string(source.weightsPath),
                    int32(inputs.size()),
                    int32(outputs.size()),
                    int32(states.size()),
                    int32(shared.parameters.size()),
                    int32(symbols.size()),
                    int32(kernelCount),
                    array(inputs, "moert.inputs"),
                    array(outputs, "moert.outputs"),
                    array(states, "moert.states"),
                    array(symbols, "moert.symbols"),
                    shared.parameterTable,
                    shared.kernels,
                    generationInfo,
                    shared.cuda,
                    int32(axes.size()),
                    shared.axes,
                    variant ? string(variant) : null(),
                    int32(*ownAxes),
                    llvmModule.getFunction(function.getName())});
}

LogicalResult DescriptorBuilder::run(SmallVectorImpl<Descriptor> &descriptors) {
  SmallVector<std::pair<LLVM::LLVMFuncOp, DictionaryAttr>> programs;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (auto program = function->getAttrOfType<DictionaryAttr>(moert::programAttrName))
      programs.push_back({function, program});
  auto parameters = module->getAttrOfType<ArrayAttr>(moert::parametersAttrName);
  Shared shared;
  shared.kernels = llvmModule.getGlobalVariable(moert::kernelTableName, /*AllowInternal=*/true);
  if (programs.empty() || !parameters || !shared.kernels)
    return error("module has no 'moert.program' attribute; run convert-host-to-moert first");
  if (failed(readAxes()) || failed(list(parameters, "parameters", shared.parameters)))
    return failure();
  shared.parameterTable = array(shared.parameters, "moert.parameters");
  shared.axes = array(axes, "moert.axes");
  shared.cuda = null();
  if (source.cuda) {
    FailureOr<llvm::Constant *> code = makeCudaCode(source, shared.kernels, *this);
    if (failed(code))
      return failure();
    shared.cuda = *code;
  }
  for (auto [function, attr] : programs) {
    FailureOr<llvm::Constant *> descriptor = program(function, attr, shared);
    if (failed(descriptor))
      return failure();
    std::string name = moert::entryOf(function.getName()).str();
    auto entry = attr.getAs<StringAttr>("entry");
    // Visible until the modules of all devices are one.
    std::string symbol = (source.cuda ? "moert_program_cuda_" : "moert_program_cpu_") + name;
    new llvm::GlobalVariable(llvmModule, (*descriptor)->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, *descriptor, symbol);
    descriptors.push_back({entry ? entry.str() : name, symbol});
  }
  return success();
}

LogicalResult moe_mlir::addDescriptors(const ProgramModule &source, ModuleOp lowered, llvm::Module &llvmModule,
                                       const ObjectOptions &options, x86::TargetAttr target,
                                       SmallVectorImpl<Descriptor> &descriptors) {
  return DescriptorBuilder(source, lowered, llvmModule, options, target).run(descriptors);
}

void moe_mlir::addProgramList(llvm::Module &llvmModule, ArrayRef<Descriptor> descriptors) {
  ConstantBuilder b(llvmModule);
  // Those of one entry stand together, in the order in which its devices were given.
  SmallVector<llvm::Constant *> programs;
  llvm::StringSet<> seen;
  for (const Descriptor &first : descriptors)
    if (seen.insert(first.entry).second)
      for (const Descriptor &descriptor : descriptors)
        if (descriptor.entry == first.entry) {
          llvm::GlobalVariable *program = llvmModule.getGlobalVariable(descriptor.symbol);
          program->setLinkage(llvm::GlobalValue::PrivateLinkage);
          program->setName("moert.program");
          programs.push_back(program);
        }
  llvm::Constant *list =
      b.structure({b.int32(MOERT_ABI_VERSION), b.int32(programs.size()), b.array(programs, "moert.programs")});
  // Writable in the file's eyes (its pointers are relocated), constant for the program.
  new llvm::GlobalVariable(llvmModule, list->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, list,
                           "moert_model_programs");
}
