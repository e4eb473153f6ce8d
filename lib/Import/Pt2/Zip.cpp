//===- Zip.cpp - directory of a zip file whose entries are stored -------------------------------------------------===//

#include "Zip.h"
#include "Support.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include <algorithm>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

static constexpr uint32_t localSignature = 0x04034b50, centralSignature = 0x02014b50, endSignature = 0x06054b50;
static constexpr uint32_t end64Signature = 0x06064b50, locator64Signature = 0x07064b50;
static constexpr uint64_t endSize = 22, locator64Size = 20, end64Size = 56, centralSize = 46, localSize = 30;

namespace {
/// Little-endian fields of the file; callers check ranges with `has` first.
struct Reader {
  StringRef file;
  bool has(uint64_t offset, uint64_t size) const { return offset <= file.size() && size <= file.size() - offset; }
  uint16_t u16(uint64_t offset) const { return support::endian::read16le(file.data() + offset); }
  uint32_t u32(uint64_t offset) const { return support::endian::read32le(file.data() + offset); }
  uint64_t u64(uint64_t offset) const { return support::endian::read64le(file.data() + offset); }
};

struct Directory {
  uint64_t offset, size, count;
};
} // namespace

/// The end record stands before a comment of at most 65,535 bytes, so it is searched from the back.
static Expected<Directory> findDirectory(const Reader &in) {
  if (!in.file.starts_with("PK"))
    return inputError("not a .pt2 file (it does not start like a zip archive)");
  uint64_t size = in.file.size();
  if (size < endSize)
    return inputError("the archive is truncated (no end record)");
  uint64_t lowest = size - endSize > 0xffff ? size - endSize - 0xffff : 0, end = size - endSize;
  while (in.u32(end) != endSignature || end + endSize + in.u16(end + 20) != size) {
    if (end == lowest)
      return inputError("the archive is truncated (no end record)");
    --end;
  }
  Directory directory{in.u32(end + 16), in.u32(end + 12), in.u16(end + 10)};
  uint32_t disks = in.u16(end + 4) | in.u16(end + 6);
  if (end >= locator64Size && in.u32(end - locator64Size) == locator64Signature) {
    uint64_t end64 = in.u64(end - locator64Size + 8);
    if (!in.has(end64, end64Size) || in.u32(end64) != end64Signature)
      return inputError("the archive is damaged (its zip64 end record is not where its locator says)");
    directory = {in.u64(end64 + 48), in.u64(end64 + 40), in.u64(end64 + 32)};
    disks = in.u32(end64 + 16) | in.u32(end64 + 20);
  }
  if (disks != 0 && disks != 0xffff)
    return inputError("the archive spans several disks");
  if (!in.has(directory.offset, directory.size))
    return inputError("the archive is truncated (its directory lies beyond the end of the file)");
  return directory;
}

/// 64-bit fields of the zip64 extra block stand only for those 32-bit fields that hold all ones, in this order.
static Error readZip64Extra(const Reader &in, uint64_t extra, uint64_t length, uint64_t &size, uint64_t &packed,
                            uint64_t &offset) {
  for (uint64_t at = extra, stop = extra + length; at + 4 <= stop;) {
    uint64_t id = in.u16(at), bytes = in.u16(at + 2);
    at += 4;
    if (bytes > stop - at)
      break;
    if (id == 1) {
      uint64_t field = at, last = at + bytes;
      for (uint64_t *value : {&size, &packed, &offset}) {
        if (*value != 0xffffffff)
          continue;
        if (last - field < 8)
          return inputError("the archive is damaged (short zip64 field)");
        *value = in.u64(field);
        field += 8;
      }
      return Error::success();
    }
    at += bytes;
  }
  return Error::success();
}

static bool leavesArchive(StringRef name) {
  if (name.empty() || name.starts_with("/") || name.contains('\\') || name.contains('\0') || name.contains(':'))
    return true;
  SmallVector<StringRef> parts;
  name.split(parts, '/');
  return is_contained(parts, "..");
}

Expected<std::vector<ZipEntry>> moe_mlir::pt2::readZipDirectory(StringRef file) {
  Reader in{file};
  Expected<Directory> directory = findDirectory(in);
  if (!directory)
    return directory.takeError();
  std::vector<ZipEntry> entries;
  llvm::StringSet<> names;
  uint64_t at = directory->offset, stop = directory->offset + directory->size;
  for (uint64_t i = 0; i < directory->count; ++i) {
    if (stop - at < centralSize || in.u32(at) != centralSignature)
      return inputError("the archive is damaged (its directory ends early)");
    uint64_t nameLength = in.u16(at + 28), extraLength = in.u16(at + 30), commentLength = in.u16(at + 32);
    uint64_t total = centralSize + nameLength + extraLength + commentLength;
    if (stop - at < total)
      return inputError("the archive is damaged (its directory ends early)");
    StringRef name = file.substr(at + centralSize, nameLength);
    uint16_t flags = in.u16(at + 8), method = in.u16(at + 10);
    uint64_t packed = in.u32(at + 20), size = in.u32(at + 24), offset = in.u32(at + 42);
    uint32_t crc = in.u32(at + 16);
    if (Error error = readZip64Extra(in, at + centralSize + nameLength, extraLength, size, packed, offset))
      return std::move(error);
    at += total;

    if (leavesArchive(name))
      return inputError("entry name '" + printable(name) + "' leaves the archive");
    if (!names.insert(name).second)
      return inputError("two entries are named '" + printable(name) + "'");
    if (flags & 1)
      return inputError("entry '" + printable(name) + "' is encrypted");
    if (method != 0 || packed != size)
      return inputError("entry '" + printable(name) + "' is compressed; torch.export.save stores entries uncompressed");
    if (!in.has(offset, localSize) || in.u32(offset) != localSignature)
      return inputError("entry '" + printable(name) + "' is damaged (no header at its offset)");
    uint64_t data = offset + localSize + in.u16(offset + 26) + in.u16(offset + 28);
    if (!in.has(offset + localSize, in.u16(offset + 26)) ||
        file.substr(offset + localSize, in.u16(offset + 26)) != name)
      return inputError("entry '" + printable(name) + "' is damaged (its header has another name)");
    if (data > directory->offset || size > directory->offset - data)
      return inputError("entry '" + printable(name) + "' is truncated");
    if (!name.ends_with("/"))
      entries.push_back({name, data, size, crc});
  }
  std::vector<const ZipEntry *> order;
  for (const ZipEntry &entry : entries)
    order.push_back(&entry);
  llvm::sort(order, [](const ZipEntry *a, const ZipEntry *b) {
    return std::tie(a->offset, a->size) < std::tie(b->offset, b->size);
  });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->offset + order[i - 1]->size > order[i]->offset)
      return inputError("entries '" + printable(order[i - 1]->name) + "' and '" + printable(order[i]->name) +
                        "' overlap");
  return entries;
}
