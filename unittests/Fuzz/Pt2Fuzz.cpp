//===- Pt2Fuzz.cpp - any bytes as a .pt2 file -------------------------------------------------------------------===//
//
// What begins with "PK" is the file. Anything else are its texts, with zero bytes in between: graph, tables of weights
// and constants, extra file; they are packed together with a few blobs of data, so that changes meet the reader of the
// graph and not the checks of the container.
//
// An import fails with a diagnostic and one of two kinds of errors, or gives a module that is verified, prints and can
// be parsed again.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "FuzzTarget.h"
#include "ZipWriter.h"

#include "moe-mlir/Import/Pt2.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

using namespace mlir;
using namespace moe_mlir;

static std::string pack(llvm::StringRef texts) {
  llvm::SmallVector<llvm::StringRef> parts;
  texts.split(parts, '\0', 3);
  parts.resize(4);
  static constexpr llvm::StringLiteral names[] = {"models/model.json", "data/weights/model_weights_config.json",
                                                  "data/constants/model_constants_config.json", "extra/moe_mlir.json"};
  ZipWriter zip;
  for (auto [name, text] : llvm::zip_equal(names, parts))
    if (!text.empty())
      zip.add("model/" + name.str(), text);
  // Those that a table may name, as long as the tensors of the fixtures are: data that is left over is refused before
  // the graph is read.
  for (auto [folder, name, bytes] : {std::tuple("weights/", "weight_0", 24),
                                     {"weights/", "weight_1", 24},
                                     {"constants/", "tensor_0", 4},
                                     {"constants/", "tensor_1", 24}})
    if (texts.contains(name))
      zip.add(std::string("model/data/") + folder + name, std::string(bytes, '\1'));
  zip.add("model/archive_format", "pt2");
  return zip.finish();
}

/// Every tensor's blob lies in the file, and the tensor in its blob.
static void checkTensors(llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<Pt2Archive>> archive = Pt2Archive::open(path);
  if (!archive)
    return llvm::consumeError(archive.takeError());
  unsigned sum = 0;
  for (const Pt2Tensor &tensor : (*archive)->getTensors()) {
    llvm::ArrayRef<char> bytes = (*archive)->getBytes(tensor);
    for (char byte : bytes)
      sum += static_cast<volatile const char &>(byte);
    llvm::consumeError((*archive)->verifyChecksum(tensor));
    if (tensor.getNumElements() == 0)
      continue;
    int64_t last = tensor.storageOffset;
    for (auto [size, stride] : llvm::zip_equal(tensor.sizes, tensor.strides))
      last += (size - 1) * stride;
    check(last >= 0 && (uint64_t(last) + 1) * *getByteSize(tensor.type) <= bytes.size(), "a tensor leaves its blob");
    (void)tensor.isContiguous();
  }
  (void)sum;
  (void)(*archive)->getContentId();
}

namespace {
/// A search among inputs that all fail early would look like one that finds nothing.
struct Counts {
  unsigned inputs = 0, modules = 0;
  ~Counts() { check(inputs < 1000 || modules != 0, "some inputs are read to their end"); }
} counts;
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Types and attributes stay in the context for good: a fresh one now and then.
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 2000 == 0)
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);

  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  MemoryFile file(bytes.starts_with("PK") ? bytes.str() : pack(bytes));
  std::string path = file.path();

  checkTensors(path);
  unsigned errors = 0;
  {
    ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
      check(!diagnostic.str().empty(), "an error says something");
      errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    });
    ImportErrorKind kind = ImportErrorKind::Input;
    OwningOpRef<ModuleOp> module = importPt2(path, context.get(), {}, &kind);
    check(bool(module) == (errors == 0), "either a module or an error");
    ++counts.inputs;
    if (module) {
      ++counts.modules;
      std::string text;
      llvm::raw_string_ostream os(text);
      module->print(os);
      check(bool(parseSourceString<ModuleOp>(text, context.get())), "the module can be parsed again");
    }
  }
  return 0;
}
