//===- TensorTables.cpp - the tensors of a .pt2 file and their data -----------------------------------------------===//

#include "Support.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

std::optional<unsigned> moe_mlir::getByteSize(Pt2ScalarType type) {
  switch (type) {
  case Pt2ScalarType::UInt8:
  case Pt2ScalarType::Int8:
  case Pt2ScalarType::Bool:
  case Pt2ScalarType::Float8E4M3FN:
  case Pt2ScalarType::Float8E5M2:
    return 1;
  case Pt2ScalarType::Int16:
  case Pt2ScalarType::Float16:
  case Pt2ScalarType::BFloat16:
    return 2;
  case Pt2ScalarType::Int32:
  case Pt2ScalarType::Float32:
    return 4;
  case Pt2ScalarType::Int64:
  case Pt2ScalarType::Float64:
    return 8;
  case Pt2ScalarType::Complex32:
  case Pt2ScalarType::Complex64:
  case Pt2ScalarType::Complex128:
    break;
  }
  return std::nullopt;
}

std::string moe_mlir::describe(Pt2ScalarType type) {
  switch (type) {
  case Pt2ScalarType::UInt8:
    return "dtype uint8";
  case Pt2ScalarType::Float8E4M3FN:
    return "dtype float8_e4m3fn";
  case Pt2ScalarType::Float8E5M2:
    return "dtype float8_e5m2";
  case Pt2ScalarType::Complex32:
    return "dtype complex32";
  case Pt2ScalarType::Complex64:
    return "dtype complex64";
  case Pt2ScalarType::Complex128:
    return "dtype complex128";
  default:
    return "dtype number " + std::to_string(int32_t(type));
  }
}

std::string moe_mlir::notSupported(Pt2ScalarType type) {
  bool isComplex = type >= Pt2ScalarType::Complex32 && type <= Pt2ScalarType::Complex128;
  return describe(type) + ", which is not supported" +
         (isComplex ? ": have the model compute with real and imaginary parts, as tensors of their own" : "");
}

mlir::Type moe_mlir::getElementType(Pt2ScalarType type, mlir::MLIRContext *context) {
  mlir::Builder b(context);
  switch (type) {
  case Pt2ScalarType::Int8:
    return b.getI8Type();
  case Pt2ScalarType::Int16:
    return b.getI16Type();
  case Pt2ScalarType::Int32:
    return b.getI32Type();
  case Pt2ScalarType::Int64:
    return b.getI64Type();
  case Pt2ScalarType::Float16:
    return b.getF16Type();
  case Pt2ScalarType::Float32:
    return b.getF32Type();
  case Pt2ScalarType::Float64:
    return b.getF64Type();
  case Pt2ScalarType::Bool:
    return b.getI1Type();
  case Pt2ScalarType::BFloat16:
    return b.getBF16Type();
  case Pt2ScalarType::UInt8:
  case Pt2ScalarType::Float8E4M3FN:
  case Pt2ScalarType::Float8E5M2:
  case Pt2ScalarType::Complex32:
  case Pt2ScalarType::Complex64:
  case Pt2ScalarType::Complex128:
    break;
  }
  return {};
}

int64_t Pt2Tensor::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

bool Pt2Tensor::isContiguous() const {
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected)
      return false;
    expected *= sizes[d];
  }
  return true;
}

/// Sizes, strides and offsets are `{"as_int": n}`; anything symbolic in a stored tensor is an error.
static std::optional<int64_t> readInt(const JsonValue *value) {
  const JsonObject *object = value ? value->getAsObject() : nullptr;
  return object ? object->getInteger("as_int") : std::nullopt;
}

static Error checkExtent(const Pt2Tensor &tensor, unsigned elementBytes) {
  int64_t elements = 1, last = tensor.storageOffset;
  bool overflow = tensor.storageOffset < 0;
  for (auto [size, stride] : zip(tensor.sizes, tensor.strides)) {
    int64_t reach;
    overflow |= size < 0 || stride < 0 || MulOverflow(elements, size, elements);
    overflow |= MulOverflow(std::max<int64_t>(size - 1, 0), stride, reach) || AddOverflow(last, reach, last);
  }
  if (overflow)
    return inputError("tensor '" + printable(tensor.key) + "' has impossible sizes");
  if (elements != 0 && uint64_t(last) >= tensor.byteSize / elementBytes)
    return inputError("tensor '" + printable(tensor.key) + "' needs element " + Twine(last) +
                      " of its data, but the archive holds only " + Twine(tensor.byteSize) + " bytes");
  return Error::success();
}

/// Bytes of its blob that the tensor reaches; the extent has been checked.
static uint64_t getEnd(const Pt2Tensor &tensor) {
  if (tensor.getNumElements() == 0)
    return 0;
  int64_t last = tensor.storageOffset;
  for (auto [size, stride] : zip(tensor.sizes, tensor.strides))
    last += (size - 1) * stride;
  return (uint64_t(last) + 1) * *getByteSize(tensor.type);
}

Error Pt2Archive::readTensorTable(StringRef directory, StringRef text) {
  std::string what = ("tensor table of " + directory).str();
  Expected<JsonDocument> table = parseJson(text, what);
  if (!table)
    return table.takeError();
  const JsonObject *object = table->root().getAsObject();
  const JsonObject *config = object ? object->getObject("config") : nullptr;
  if (!config)
    return inputError(what + " has no 'config'");
  for (const auto &[key, value] : *config) {
    const JsonObject *record = value.getAsObject();
    if (!record)
      return inputError(what + ": '" + printable(key) + "' is not an object");
    if (record->getBoolean("use_pickle").value_or(false))
      return unsupportedError(
          "tensor '" + printable(key) +
          "' is pickled; a pickle can run code and is never loaded. Export again with plain tensors "
          "(no tensor subclasses)");
    const JsonObject *meta = record->getObject("tensor_meta");
    std::optional<StringRef> name = record->getString("path_name");
    if (!meta || !name)
      return inputError(what + ": '" + printable(key) + "' has no path_name or tensor_meta");
    Pt2Tensor tensor;
    tensor.key = key.str();
    tensor.entry = (directory + *name).str();
    tensor.isParameter = record->getBoolean("is_param").value_or(false);
    tensor.type = static_cast<Pt2ScalarType>(meta->getInteger("dtype").value_or(0));
    std::optional<unsigned> bytes = getByteSize(tensor.type);
    if (!bytes)
      return unsupportedError("tensor '" + printable(key) + "' has " + notSupported(tensor.type));
    if (meta->getInteger("layout").value_or(7) != 7)
      return unsupportedError("tensor '" + printable(key) + "' is not strided (sparse layouts are not supported)");
    auto readList = [&](StringRef field, SmallVectorImpl<int64_t> &list) {
      const JsonArray *array = meta->getArray(field);
      for (size_t i = 0; array && i < array->size(); ++i) {
        std::optional<int64_t> value = readInt(&(*array)[i]);
        if (!value)
          return false;
        list.push_back(*value);
      }
      return array != nullptr;
    };
    std::optional<int64_t> offset = readInt(meta->get("storage_offset"));
    if (!readList("sizes", tensor.sizes) || !readList("strides", tensor.strides) ||
        tensor.sizes.size() != tensor.strides.size() || !offset)
      return inputError(what + ": '" + printable(key) + "' has no plain sizes, strides or offset");
    tensor.storageOffset = *offset;
    auto entry = entries.find(prefix + tensor.entry);
    if (entry == entries.end())
      return inputError("the data of tensor '" + printable(key) + "' is missing (no entry '" + printable(tensor.entry) +
                        "')");
    tensor.fileOffset = entry->second.offset;
    tensor.byteSize = entry->second.size;
    tensor.crc32 = entry->second.crc32;
    if (Error error = checkExtent(tensor, *bytes))
      return error;
    if (!index.try_emplace(tensor.key, tensors.size()).second)
      return inputError("two tables have a tensor '" + printable(key) + "'");
    tensors.push_back(std::move(tensor));
  }
  return Error::success();
}

/// Blobs that no table names mean that a table was lost or belongs to another archive, and so do bytes behind the last
/// element of all the tensors that share a blob.
Error Pt2Archive::checkBlobs() const {
  StringMap<std::pair<uint64_t, const Pt2Tensor *>> named;
  for (const Pt2Tensor &tensor : tensors) {
    auto &[end, last] = named[tensor.entry];
    uint64_t own = getEnd(tensor);
    if (!last || own > end)
      std::tie(end, last) = std::pair(own, &tensor);
  }
  for (const auto &entry : named) {
    auto [end, tensor] = entry.getValue();
    if (end < tensor->byteSize)
      return inputError("the archive holds " + Twine(tensor->byteSize) + " bytes for tensor '" +
                        printable(tensor->key) + "', of which its sizes need " + Twine(end) +
                        "; a part of a larger tensor has to be cloned before the export");
  }
  for (const auto &entry : entries) {
    StringRef name = entry.getKey();
    name.consume_front(prefix);
    if (name.starts_with("data/weights/") && !name.ends_with(".json") && !named.contains(name))
      return inputError("the data '" + printable(name) + "' is left over: no table of the archive has a tensor of it");
  }
  return Error::success();
}
