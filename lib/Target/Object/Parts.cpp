//===- Parts.cpp - machine code of a module's functions, each by itself -------------------------------------------===//
//
// A function whose address is taken is a part, with copies of what it needs: functions that it calls directly, and
// constants that hold no address. What is left (the descriptors, their texts) is a part as well. Kernels are called by
// address only, so that nothing is lost: no code moves from one into another. In return parts are compiled at the same
// time, and one that was compiled before is not compiled again.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "CodeGenerator.h"

#include "mlir/IR/Threading.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <mutex>
#include <numeric>

using namespace mlir;
using namespace moe_mlir;

/// Behind the names of functions and variables that parts share: no C name has a dot, so that none is one of the runtime's.
static constexpr llvm::StringLiteral kSuffix = ".moe";

/// Local definitions that `value` reads or calls, and those that they need.
static void addNeeds(const llvm::User &user, llvm::SetVector<const llvm::GlobalValue *> &needs) {
  for (const llvm::Use &use : user.operands()) {
    if (auto *global = dyn_cast<llvm::GlobalValue>(use.get())) {
      if (!global->hasLocalLinkage() || global->isDeclaration() || !needs.insert(global))
        continue;
      if (auto *function = dyn_cast<llvm::Function>(global)) {
        for (const llvm::BasicBlock &block : *function)
          for (const llvm::Instruction &instruction : block)
            addNeeds(instruction, needs);
      } else {
        addNeeds(*global, needs);
      }
    } else if (auto *constant = dyn_cast<llvm::Constant>(use.get())) {
      addNeeds(*constant, needs);
    }
  }
}

/// Whether each part may have a copy of its own. A table of addresses is shared: the runtime knows a kernel by the place
/// of its entry in the program's table.
static bool canBeCopied(const llvm::GlobalVariable &variable) {
  return variable.isConstant() && !variable.getInitializer()->needsRelocation();
}

/// What several parts may refer to becomes visible among them: functions whose address is taken, and variables.
static SmallVector<llvm::Function *> separate(llvm::Module &module) {
  auto share = [](llvm::GlobalValue &value) {
    if (!value.hasLocalLinkage())
      return;
    value.setName(value.getName() + kSuffix);
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
  };
  for (llvm::GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration() && !canBeCopied(variable))
      share(variable);
  SmallVector<llvm::Function *> functions;
  for (llvm::Function &function : module) {
    if (function.isDeclaration() || (function.hasLocalLinkage() && !function.hasAddressTaken()))
      continue;
    share(function);
    functions.push_back(&function);
  }
  return functions;
}

static std::string bitcodeOf(const llvm::Module &module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

static std::string bitcodeOf(llvm::Module &module, llvm::function_ref<bool(const llvm::GlobalValue *)> isDefined) {
  llvm::ValueToValueMapTy map;
  std::unique_ptr<llvm::Module> part = llvm::CloneModule(module, map, isDefined);
  for (llvm::Function &function : llvm::make_early_inc_range(*part))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (llvm::GlobalVariable &variable : llvm::make_early_inc_range(part->globals()))
    if (variable.isDeclaration() && variable.use_empty())
      variable.eraseFromParent();
  return bitcodeOf(*part);
}

namespace {
/// A part that declares no more than what its definitions refer to. llvm::CloneModule declares all that the module has:
/// of a thousand entries, each part would begin as a list of a thousand others.
class PartBuilder final : llvm::ValueMaterializer {
public:
  explicit PartBuilder(const llvm::Module &module)
      : module(module), part(std::make_unique<llvm::Module>(module.getModuleIdentifier(), module.getContext())) {
    part->setSourceFileName(module.getSourceFileName());
    part->setDataLayout(module.getDataLayout());
    part->setTargetTriple(module.getTargetTriple());
    part->setModuleInlineAsm(module.getModuleInlineAsm());
  }

  /// Whether modules have nothing but functions, variables and metadata about both. Others come from edited texts.
  static bool supports(const llvm::Module &module) {
    return module.alias_empty() && module.ifunc_empty() && module.getComdatSymbolTable().empty() &&
           !module.getNamedMetadata("llvm.dbg.cu");
  }

  std::string run(llvm::ArrayRef<const llvm::GlobalValue *> definitions) {
    for (const llvm::GlobalValue *value : definitions)
      map[value] = copy(*value);
    for (const llvm::GlobalValue *value : definitions)
      if (auto *variable = dyn_cast<llvm::GlobalVariable>(value))
        define(*variable, *cast<llvm::GlobalVariable>(map[value]));
      else
        define(*cast<llvm::Function>(value), *cast<llvm::Function>(map[value]));
    for (const llvm::NamedMDNode &list : module.named_metadata()) {
      llvm::NamedMDNode *copied = part->getOrInsertNamedMetadata(list.getName());
      for (const llvm::MDNode *node : list.operands())
        copied->addOperand(llvm::MapMetadata(node, map, llvm::RF_None, nullptr, this));
    }
    return bitcodeOf(*part);
  }

private:
  llvm::Value *materialize(llvm::Value *value) override {
    auto *global = dyn_cast<llvm::GlobalValue>(value);
    if (!global)
      return nullptr;
    llvm::GlobalValue *declaration = copy(*global);
    if (!global->isDeclaration())
      declaration->setLinkage(llvm::GlobalValue::ExternalLinkage);
    return declaration;
  }

  llvm::GlobalValue *copy(const llvm::GlobalValue &value) {
    if (auto *variable = dyn_cast<llvm::GlobalVariable>(&value)) {
      auto *result = new llvm::GlobalVariable(*part, variable->getValueType(), variable->isConstant(),
                                              variable->getLinkage(), nullptr, variable->getName(), nullptr,
                                              variable->getThreadLocalMode(), variable->getAddressSpace());
      result->copyAttributesFrom(variable);
      return result;
    }
    auto *function = cast<llvm::Function>(&value);
    llvm::Function *result = llvm::Function::Create(function->getFunctionType(), function->getLinkage(),
                                                    function->getAddressSpace(), function->getName(), part.get());
    result->copyAttributesFrom(function);
    result->setPersonalityFn(nullptr); // that of the module; a definition gets one of the part
    return result;
  }

  void define(const llvm::GlobalVariable &from, llvm::GlobalVariable &to) {
    to.setInitializer(llvm::MapValue(from.getInitializer(), map, llvm::RF_None, nullptr, this));
    SmallVector<std::pair<unsigned, llvm::MDNode *>> nodes;
    from.getAllMetadata(nodes);
    for (auto [kind, node] : nodes)
      to.addMetadata(kind, *llvm::MapMetadata(node, map, llvm::RF_None, nullptr, this));
  }

  void define(const llvm::Function &from, llvm::Function &to) {
    for (auto [argument, copied] : llvm::zip(from.args(), to.args())) {
      copied.setName(argument.getName());
      map[&argument] = &copied;
    }
    SmallVector<llvm::ReturnInst *> returns;
    llvm::CloneFunctionInto(&to, &from, map, llvm::CloneFunctionChangeType::ClonedModule, returns, "", nullptr, nullptr,
                            this);
  }

  const llvm::Module &module;
  std::unique_ptr<llvm::Module> part;
  llvm::ValueToValueMapTy map;
};
} // namespace

/// The parts as bitcode, which a context of another thread can read.
static std::vector<std::string> split(llvm::Module &module) {
  const SmallVector<llvm::Function *> functions = separate(module);
  auto isVariable = [](const llvm::GlobalValue *value) { return isa<llvm::GlobalVariable>(value); };
  std::vector<std::string> parts = {bitcodeOf(module, isVariable)};
  const bool isPlain = PartBuilder::supports(module);
  for (llvm::Function *function : functions) {
    llvm::SetVector<const llvm::GlobalValue *> needs;
    needs.insert(function);
    for (const llvm::BasicBlock &block : *function)
      for (const llvm::Instruction &instruction : block)
        addNeeds(instruction, needs);
    parts.push_back(isPlain ? PartBuilder(module).run(needs.getArrayRef())
                            : bitcodeOf(module, [&](auto *value) { return needs.contains(value); }));
  }
  return parts;
}

static FailureOr<std::string> objectOf(Location loc, StringRef bitcode, x86::TargetAttr target, unsigned optLevel) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::parseBitcodeFile({bitcode, "part"}, context);
  if (!module)
    return emitError(loc) << "a part of the program cannot be read again: " << toString(module.takeError());
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(loc, target, optLevel);
  if (!machine)
    return failure();
  optimize(**module, *machine, optLevel);
  SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  if (failed(generate(loc, **module, *machine, stream, llvm::CodeGenFileType::ObjectFile)))
    return failure();
  return object.str().str();
}

FailureOr<std::vector<std::string>> moe_mlir::generateParts(Location loc, llvm::Module &module, x86::TargetAttr target,
                                                            unsigned optLevel, const ObjectCache &cache,
                                                            const std::function<void(unsigned)> &progress) {
  const std::vector<std::string> parts = split(module);
  // Long ones first: what is left when a thread has nothing more to do is short.
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) { return std::pair(parts[b].size(), a) < std::pair(parts[a].size(), b); });
  const std::string settings =
      (target.getCpu() + "\n" + target.getFeatures() + "\n" + Twine(optLevel) + "\n" + Twine(target.getVector())).str();
  std::vector<std::string> objects(parts.size());
  size_t all = 0;
  for (const std::string &part : parts)
    all += part.size();
  std::mutex mutex;
  size_t done = 0;
  LogicalResult result = failableParallelForEach(loc.getContext(), order, [&](size_t place) {
    std::string &object = objects[place];
    if (std::optional<std::string> found = cache.find(settings, parts[place])) {
      object = std::move(*found);
    } else {
      FailureOr<std::string> made = objectOf(loc, parts[place], target, optLevel);
      if (failed(made))
        return failure();
      cache.add(settings, parts[place], *made);
      object = std::move(*made);
    }
    std::lock_guard<std::mutex> lock(mutex);
    done += parts[place].size();
    progress(100 * done / all);
    return success();
  });
  if (failed(result))
    return failure();
  return objects;
}
