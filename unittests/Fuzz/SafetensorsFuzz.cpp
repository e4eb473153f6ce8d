//===- SafetensorsFuzz.cpp - any bytes as a .safetensors file -----------------------------------------------------===//
//
// What begins with "{" is a header: its size and a few bytes of data are added, so that changes meet the checks of
// tensors and not the size of the header. Anything else is the file. What is accepted can be read to its last byte.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "FuzzTarget.h"

#include "moe-mlir/Weights/SafetensorsSource.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace moe_mlir;

/// Names that the header may hold: what stands in quotes.
static std::vector<std::string> quoted(llvm::StringRef text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    text = text.split('"').second;
    auto [name, rest] = text.split('"');
    names.push_back(name.str());
    text = rest;
  }
  return names;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  std::string file = bytes.str();
  if (bytes.starts_with("{")) {
    char header[8];
    llvm::support::endian::write64le(header, size);
    file = std::string(header, 8) + file + std::string(32, '\1');
  }
  MemoryFile written(file);
  llvm::Expected<std::unique_ptr<WeightSource>> source = openSafetensors(written.path());
  if (!source) {
    check(!llvm::StringRef(llvm::toString(source.takeError())).contains('\n'), "an error is one line");
  } else {
    unsigned sum = 0;
    for (const std::string &name : quoted(bytes))
      if (llvm::Expected<Blob> blob = (*source)->find(name)) {
        for (char byte : blob->data)
          sum += static_cast<volatile const char &>(byte);
        uint64_t elements = 1;
        for (int64_t count : blob->sizes)
          elements *= count;
        check(elements * moert::dtypeSize(blob->dtype) == blob->data.size(), "a tensor has the bytes of its shape");
      } else {
        llvm::consumeError(blob.takeError());
      }
    check((*source)->contentId().size() == 32 && sum + 1 > 0, "a content id");
  }
  return 0;
}
