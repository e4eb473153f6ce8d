//===- Archive.cpp - entries of a .pt2 file -----------------------------------------------------------------------===//

#include "Support.h"
#include "Zip.h"

#include "moe-mlir/Support/FileKind.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

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

/// torch.load refuses an archive without a format, takes one without a version for version 0, and writes the byte order
/// since it has the version.
Error Pt2Archive::checkFormat() const {
  auto check = [&](StringRef name, StringRef expected, std::optional<StringRef> absent,
                   function_ref<Error(StringRef)> refuse) -> Error {
    auto entry = entries.find(prefix + name.str());
    if (entry == entries.end())
      return absent == expected ? Error::success() : refuse("none");
    Expected<StringRef> text = getText(entry->getKey(), entry->second);
    if (!text)
      return text.takeError();
    return text->trim() == expected ? Error::success() : refuse("'" + printable(text->trim().take_front(40)) + "'");
  };
  if (Error error = check("archive_format", "pt2", std::nullopt, [](StringRef found) {
        return inputError("has an unknown archive format (" + found +
                          " instead of 'pt2'); save the exported program with torch.export.save");
      }))
    return error;
  if (Error error = check("archive_version", "0", "0", [](StringRef found) {
        return unsupportedError("has archive version " + found +
                                ", of which this release knows nothing; save it with torch 2.9 to 2.13, which write "
                                "version 0");
      }))
    return error;
  return check("byteorder", "little", "little",
               [](StringRef) { return unsupportedError("was not written on a little-endian machine"); });
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
  if (StringRef kind = kindIfNoFile(path); !kind.empty())
    return fail(inputError("is " + kind + "; a .pt2 file is expected"));
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

  if (Error error = archive->checkFormat())
    return fail(std::move(error));
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
