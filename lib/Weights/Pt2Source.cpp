//===- Pt2Source.cpp - weights of a .pt2 file ---------------------------------------------------------------------===//

#include "moe-mlir/Weights/Pt2Source.h"
#include "moe-mlir/Import/Pt2.h"

using namespace llvm;
using namespace moe_mlir;

static std::optional<moert_dtype> dtypeOf(Pt2ScalarType type) {
  switch (type) {
  case Pt2ScalarType::UInt8:
    return MOERT_U8;
  case Pt2ScalarType::Int8:
    return MOERT_I8;
  case Pt2ScalarType::Int16:
    return MOERT_I16;
  case Pt2ScalarType::Int32:
    return MOERT_I32;
  case Pt2ScalarType::Int64:
    return MOERT_I64;
  case Pt2ScalarType::Float16:
    return MOERT_F16;
  case Pt2ScalarType::Float32:
    return MOERT_F32;
  case Pt2ScalarType::Float64:
    return MOERT_F64;
  case Pt2ScalarType::Bool:
    return MOERT_BOOL;
  case Pt2ScalarType::BFloat16:
    return MOERT_BF16;
  default:
    return std::nullopt;
  }
}

namespace {
class Pt2Source : public WeightSource {
public:
  explicit Pt2Source(std::unique_ptr<Pt2Archive> archive) : archive(std::move(archive)) {}

  StringRef name() const override { return archive->getPath(); }
  std::string contentId() const override { return archive->getContentId(); }

  Expected<Blob> find(StringRef key) const override {
    const Pt2Tensor *tensor = archive->lookup(key);
    if (!tensor)
      return createStringError("'" + name() + "' has no weight named '" + key + "'");
    std::optional<moert_dtype> dtype = dtypeOf(tensor->type);
    if (!dtype)
      return createStringError("weight '" + key + "' has an element type that is not supported");
    Blob blob;
    blob.dtype = *dtype;
    blob.sizes.assign(tensor->sizes.begin(), tensor->sizes.end());
    blob.strides.assign(tensor->strides.begin(), tensor->strides.end());
    ArrayRef<char> bytes = archive->getBytes(*tensor);
    uint64_t start = static_cast<uint64_t>(tensor->storageOffset) * moert::dtypeSize(*dtype);
    blob.data = bytes.drop_front(std::min<uint64_t>(start, bytes.size()));
    return blob;
  }

  Error verify(StringRef key) const override {
    const Pt2Tensor *tensor = archive->lookup(key);
    return tensor ? archive->verifyChecksum(*tensor) : Error::success();
  }

private:
  std::unique_ptr<Pt2Archive> archive;
};
} // namespace

Expected<std::unique_ptr<WeightSource>> moe_mlir::openPt2Weights(StringRef path) {
  Expected<std::unique_ptr<Pt2Archive>> archive = Pt2Archive::open(path);
  if (!archive)
    return archive.takeError();
  return std::make_unique<Pt2Source>(std::move(*archive));
}
