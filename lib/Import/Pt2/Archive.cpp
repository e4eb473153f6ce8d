//===- Archive.cpp - entries and tensor tables of a .pt2 file -----------------------------------------------------===//

#include "Support.h"
#include "Zip.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

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
  default:
    return "dtype number " + std::to_string(int32_t(type));
  }
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

Pt2Archive::~Pt2Archive() = default;

const Pt2Tensor *Pt2Archive::lookup(StringRef key) const {
  auto it = index.find(key);
  return it == index.end() ? nullptr : &tensors[it->second];
}

ArrayRef<char> Pt2Archive::getBytes(const Pt2Tensor &tensor) const {
  return ArrayRef<char>(buffer->getBufferStart() + tensor.fileOffset, tensor.byteSize);
}

bool Pt2Archive::isZero(const Pt2Tensor &tensor) const {
  auto [it, isNew] = zeroBlobs.try_emplace({tensor.fileOffset, tensor.byteSize}, false);
  if (isNew)
    it->second = all_of(getBytes(tensor), [](char byte) { return byte == 0; });
  return it->second;
}

static uint32_t computeCrc32(ArrayRef<char> bytes) {
  uint32_t crc = 0;
  // In pieces, because llvm::crc32 may hand the length to zlib as 32 bits.
  for (constexpr size_t piece = size_t(1) << 26; !bytes.empty();) {
    ArrayRef<char> front = bytes.take_front(piece);
    crc = llvm::crc32(crc, ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(front.data()), front.size()));
    bytes = bytes.drop_front(front.size());
  }
  return crc;
}

Error Pt2Archive::verifyChecksum(const Pt2Tensor &tensor) const {
  if (computeCrc32(getBytes(tensor)) != tensor.crc32)
    return inputError(path + ": the data of tensor '" + tensor.key + "' is damaged (checksum differs)");
  return Error::success();
}

std::string Pt2Archive::getContentId() const {
  SHA256 hash;
  for (const Pt2Tensor &tensor : tensors) {
    std::string line;
    raw_string_ostream os(line);
    os << tensor.key << '\n' << int32_t(tensor.type) << ' ' << tensor.storageOffset << ' ' << tensor.crc32;
    for (auto [size, stride] : zip(tensor.sizes, tensor.strides))
      os << ' ' << size << ':' << stride;
    os << '\n';
    hash.update(line);
  }
  return toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

Expected<StringRef> Pt2Archive::getText(StringRef name, const Entry &entry) const {
  StringRef text(buffer->getBufferStart() + entry.offset, entry.size);
  if (computeCrc32(text) != entry.crc32)
    return inputError("entry '" + printable(name) + "' is damaged (checksum differs)");
  return text;
}

Expected<std::optional<StringRef>> Pt2Archive::getExtra(StringRef name) const {
  auto it = entries.find(prefix + "extra/" + name.str());
  if (it == entries.end())
    return std::nullopt;
  return getText(it->getKey(), it->second);
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
      return unsupportedError("tensor '" + printable(key) + "' has " + describe(tensor.type) +
                              ", which is not supported");
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

/// Blobs that no table names mean that a table was lost or belongs to another archive.
Error Pt2Archive::checkBlobs() const {
  StringSet<> named;
  for (const Pt2Tensor &tensor : tensors)
    named.insert(tensor.entry);
  for (const auto &entry : entries) {
    StringRef name = entry.getKey();
    name.consume_front(prefix);
    if (name.starts_with("data/weights/") && !name.ends_with(".json") && !named.contains(name))
      return inputError("the data '" + printable(name) + "' is left over: no table of the archive has a tensor of it");
  }
  return Error::success();
}

Expected<std::unique_ptr<Pt2Archive>> Pt2Archive::open(StringRef path) {
  auto fail = [&](Error error) {
    return handleErrors(std::move(error), [&](const ImportError &e) -> Error {
      std::string message;
      raw_string_ostream os(message);
      e.log(os);
      return make_error<ImportError>(e.getKind(), path.str() + ": " + message);
    });
  };
  if (sys::fs::is_directory(path))
    return fail(inputError("is a folder; a .pt2 file is expected"));
  // What has no size could not be mapped, and reading it might never end.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return fail(inputError("is a device or a pipe; a .pt2 file is expected"));
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(inputError(buffer.getError().message()));

  std::unique_ptr<Pt2Archive> archive(new Pt2Archive());
  archive->path = path.str();
  archive->buffer = std::move(*buffer);
  StringRef file = archive->buffer->getBuffer();
  Expected<std::vector<ZipEntry>> directory = readZipDirectory(file);
  if (!directory)
    return fail(directory.takeError());
  for (const ZipEntry &entry : *directory)
    archive->entries[entry.name] = {entry.offset, entry.size, entry.crc32};

  // All entries lie under one folder, which is the stem of the name under which the file was saved; older archives have
  // none.
  std::vector<const ZipEntry *> graphs;
  bool inductor = false, pickledProgram = false;
  for (const ZipEntry &entry : *directory) {
    auto [head, name] = entry.name.split('/');
    for (auto [prefix, rest] : {std::pair(StringRef(head), StringRef(name)), std::pair(StringRef(), entry.name)}) {
      inductor |= rest.starts_with("data/aotinductor/");
      pickledProgram |= rest == "serialized_exported_program.json" || rest == "data.pkl";
      if (!rest.starts_with("models/") || !rest.ends_with(".json"))
        continue;
      graphs.push_back(&entry);
      archive->prefix = prefix.empty() ? "" : prefix.str() + "/";
    }
  }
  if (graphs.empty() && inductor)
    return fail(unsupportedError("was made by AOTInductor and holds compiled code instead of a graph; save the "
                                 "exported program with torch.export.save"));
  if (graphs.empty() && pickledProgram)
    return fail(unsupportedError(
        "has the older layout with pickled weights; save it again with torch.export.save of torch 2.9 or later"));
  if (graphs.empty())
    return fail(inputError("is a zip archive but not a .pt2 (no models/NAME.json)"));
  if (graphs.size() > 1)
    return fail(unsupportedError("holds " + Twine(graphs.size()) + " graphs; export one at a time"));
  const ZipEntry &graph = *graphs.front();
  Expected<StringRef> text = archive->getText(graph.name, {graph.offset, graph.size, graph.crc32});
  if (!text)
    return fail(text.takeError());
  archive->graph = *text;

  auto order = archive->entries.find(archive->prefix + "byteorder");
  if (order != archive->entries.end() && file.substr(order->second.offset, order->second.size).trim() != "little")
    return fail(unsupportedError("was not written on a little-endian machine"));
  StringRef model = graph.name.rsplit('/').second.drop_back(StringRef(".json").size());
  for (auto [folder, names] :
       {std::pair<StringRef, std::vector<std::string>>(
            "data/weights/", {model.str() + "_weights_config.json", model.str() + "_model_param_config.json"}),
        std::pair<StringRef, std::vector<std::string>>("data/constants/", {model.str() + "_constants_config.json"})}) {
    for (const std::string &name : names) {
      auto entry = archive->entries.find(archive->prefix + folder.str() + name);
      if (entry == archive->entries.end())
        continue;
      Expected<StringRef> table = archive->getText(entry->getKey(), entry->second);
      if (!table)
        return fail(table.takeError());
      if (Error error = archive->readTensorTable(folder, *table))
        return fail(std::move(error));
      break;
    }
  }
  if (Error error = archive->checkBlobs())
    return fail(std::move(error));
  return std::move(archive);
}
