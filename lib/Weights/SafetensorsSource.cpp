//===- SafetensorsSource.cpp - weights of a .safetensors file -----------------------------------------------------===//

#include "moe-mlir/Weights/SafetensorsSource.h"
#include "moe-mlir/Support/FileKind.h"
#include "moe-mlir/Support/UntrustedJson.h"
#include "moe-mlir/Weights/Pt2Source.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <mutex>

using namespace llvm;
using namespace moe_mlir;

/// What the reference implementation allows.
static constexpr uint64_t kMaxHeader = 100 << 20;

static std::optional<moert_dtype> dtypeNamed(StringRef name) {
  return StringSwitch<std::optional<moert_dtype>>(name)
      .Case("F64", MOERT_F64)
      .Case("F32", MOERT_F32)
      .Case("F16", MOERT_F16)
      .Case("BF16", MOERT_BF16)
      .Case("I64", MOERT_I64)
      .Case("I32", MOERT_I32)
      .Case("I16", MOERT_I16)
      .Case("I8", MOERT_I8)
      .Case("U8", MOERT_U8)
      .Case("BOOL", MOERT_BOOL)
      .Default(std::nullopt);
}

namespace {
struct Tensor {
  std::string type;
  std::optional<moert_dtype> dtype; ///< none: a type that weights here do not have
  SmallVector<int64_t, 4> sizes;
  uint64_t begin = 0, end = 0;
};

class SafetensorsSource : public WeightSource {
public:
  SafetensorsSource(StringRef path, std::unique_ptr<MemoryBuffer> buffer) : path(path), buffer(std::move(buffer)) {}

  Error read();

  StringRef name() const override { return path; }
  std::string contentId() const override;
  Expected<Blob> find(StringRef key) const override;
  Error verify(StringRef) const override { return Error::success(); }

private:
  Error fail(const Twine &what) const { return createStringError("'" + path + "' " + what); }
  Error readTensor(StringRef key, const JsonValue &value);
  /// As the format demands, the tensors are the data: each byte belongs to one of them.
  Error checkRanges() const;

  std::string path;
  std::unique_ptr<MemoryBuffer> buffer;
  StringRef data;
  StringMap<Tensor> tensors;
  mutable std::once_flag once;
  mutable std::string id;
};
} // namespace

Error SafetensorsSource::readTensor(StringRef key, const JsonValue &value) {
  auto bad = [&](const Twine &what) { return fail("is damaged: tensor '" + printable(key) + "' " + what); };
  const JsonObject *object = value.getAsObject();
  std::optional<StringRef> type = object ? object->getString("dtype") : std::nullopt;
  const JsonArray *shape = object ? object->getArray("shape") : nullptr;
  const JsonArray *offsets = object ? object->getArray("data_offsets") : nullptr;
  if (!type || !shape || !offsets || offsets->size() != 2)
    return bad("has no dtype, shape or pair of data_offsets");
  Tensor tensor;
  tensor.type = type->str();
  tensor.dtype = dtypeNamed(*type);
  if (shape->size() > MOERT_MAX_RANK)
    return bad("has rank " + Twine(shape->size()) + "; the limit is " + Twine(MOERT_MAX_RANK));
  uint64_t bytes = tensor.dtype ? moert::dtypeSize(*tensor.dtype) : 0;
  bool overflow = false;
  for (const JsonValue &entry : *shape) {
    // As numbers are written: 4.0 is none of a shape.
    std::optional<uint64_t> size = entry.getAsUINT64();
    if (!size || *size > uint64_t(std::numeric_limits<int64_t>::max()))
      return bad("has a size that is no natural number");
    tensor.sizes.push_back(*size);
    bool tooMuch = false;
    bytes = SaturatingMultiply<uint64_t>(bytes, *size, &tooMuch);
    overflow |= tooMuch;
  }
  std::optional<uint64_t> begin = (*offsets)[0].getAsUINT64(), end = (*offsets)[1].getAsUINT64();
  if (!begin || !end || *begin > *end || *end > data.size())
    return bad("does not lie in the file");
  // A product that overflows on the way and is 0 in the end (an empty tensor) is refused as well.
  if (tensor.dtype && (overflow || bytes != *end - *begin))
    return bad("has " + Twine(*end - *begin) + " bytes, which is not what its shape needs");
  tensor.begin = *begin;
  tensor.end = *end;
  tensors[key] = std::move(tensor);
  return Error::success();
}

Error SafetensorsSource::checkRanges() const {
  std::vector<const StringMapEntry<Tensor> *> order;
  for (const StringMapEntry<Tensor> &entry : tensors)
    order.push_back(&entry);
  llvm::sort(order, [](auto *a, auto *b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t end = 0;
  for (auto [i, entry] : llvm::enumerate(order)) {
    std::string name = printable(entry->getKey());
    if (entry->second.begin < end)
      return fail("is damaged: tensors '" + printable(order[i - 1]->getKey()) + "' and '" + name + "' share bytes");
    if (entry->second.begin > end)
      return fail("is damaged: " + Twine(entry->second.begin - end) + " bytes in front of tensor '" + name +
                  "' belong to none");
    end = entry->second.end;
  }
  if (end != data.size())
    return fail("is damaged: " + Twine(data.size() - end) + " bytes at its end belong to no tensor");
  return Error::success();
}

Error SafetensorsSource::read() {
  StringRef file = buffer->getBuffer();
  if (file.size() < sizeof(uint64_t))
    return fail("is no safetensors file: it is shorter than 8 bytes");
  uint64_t size = support::endian::read64le(file.data());
  if (size > kMaxHeader || size > file.size() - sizeof(uint64_t))
    return fail("is no safetensors file, or is cut off: its header would have " + Twine(size) + " bytes");
  StringRef header = file.substr(sizeof(uint64_t), size);
  data = file.drop_front(sizeof(uint64_t) + size);
  if (!header.starts_with("{"))
    return fail("is no safetensors file: its header is no object");
  Expected<JsonDocument> value = parseUntrustedJson(header);
  if (!value)
    return fail("is no safetensors file: its header: " + toString(value.takeError()));
  const JsonObject *object = value->root().getAsObject();
  for (const auto &[key, entry] : *object)
    if (key != "__metadata__")
      if (Error error = readTensor(key, entry))
        return error;
  return checkRanges();
}

std::string SafetensorsSource::contentId() const {
  std::call_once(once, [&] {
    // Two sums with different starts: of the file, and of its length before it.
    StringRef file = buffer->getBuffer();
    moert::Checksum plain, second;
    uint64_t length = file.size();
    second.update(&length, sizeof length);
    for (constexpr size_t piece = size_t(1) << 26; !file.empty();
         file = file.drop_front(std::min(piece, file.size()))) {
      StringRef part = file.take_front(piece);
      plain.update(part.data(), part.size());
      second.update(part.data(), part.size());
    }
    raw_string_ostream(id) << format("%016llx%016llx", static_cast<unsigned long long>(plain.finish()),
                                     static_cast<unsigned long long>(second.finish()));
  });
  return id;
}

Expected<Blob> SafetensorsSource::find(StringRef key) const {
  auto found = tensors.find(key);
  if (found == tensors.end())
    return createStringError("'" + path + "' has no weight named '" + key + "'");
  const Tensor &tensor = found->second;
  if (!tensor.dtype)
    return createStringError("weight '" + key + "' has elements of type " + printable(tensor.type) +
                             ", which is not supported");
  return Blob::contiguous(*tensor.dtype, tensor.sizes,
                          ArrayRef<char>(data.data() + tensor.begin, tensor.end - tensor.begin));
}

Expected<std::unique_ptr<WeightSource>> moe_mlir::openSafetensors(StringRef path) {
  if (StringRef kind = kindIfNoFile(path); !kind.empty())
    return createStringError("cannot read '" + path + "': it is " + kind);
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("cannot read '" + path + "': " + buffer.getError().message());
  auto source = std::make_unique<SafetensorsSource>(path, std::move(*buffer));
  if (Error error = source->read())
    return std::move(error);
  return std::move(source);
}

Expected<std::unique_ptr<WeightSource>> moe_mlir::openWeights(StringRef path) {
  return path.ends_with(".safetensors") ? openSafetensors(path) : openPt2Weights(path);
}
