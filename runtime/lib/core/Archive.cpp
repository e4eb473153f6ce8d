//===- Archive.cpp - reader of weight archives --------------------------------------------------------------------===//

#include "core/Archive.h"

#include "core/InputFile.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace moert {

Archive::~Archive() {
  if (base)
    munmap(const_cast<char *>(base), size);
}

Status Archive::damaged(const char *what) const {
  return failure(kUserError, "weights '%s' are damaged: %s", path.c_str(), what);
}

Status Archive::open(const char *file, const char *weightsId) {
  path = file;
  InputFile input(path);
  if (input.kind)
    return failure(kUserError, "weights '%s' are not a file but %s", file, input.kind);
  if (input.fd < 0)
    return failure(kUserError, "cannot open weights '%s': %s", file, strerror(input.error));
  size = input.size;
  if (size < sizeof(ArchiveHeader))
    return failure(kUserError, "weights '%s' are not a weight archive: only %llu bytes", file,
                   static_cast<unsigned long long>(size));
  void *mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, input.fd, 0);
  if (mapped == MAP_FAILED)
    return failure(kUserError, "cannot map weights '%s': %s", file, strerror(errno));
  base = static_cast<const char *>(mapped);
  // Read from the disk in pages of 2 MiB, where the file system can: translating addresses of small pages costs a
  // stream of weights up to a third of its speed. A kernel that cannot says so, and nothing is lost.
  (void)madvise(mapped, size, MADV_HUGEPAGE);
  if (Status s = checkHeader(weightsId); s.failed())
    return s;
  return checkTable();
}

Status Archive::checkHeader(const char *weightsId) {
  std::memcpy(&header, base, sizeof header);
  if (std::memcmp(header.magic, kArchiveMagic, sizeof header.magic) != 0)
    return failure(kUserError, "weights '%s' are not a weight archive", path.c_str());
  if (header.version != kArchiveVersion)
    return failure(kUnsupported, "weights '%s' have format version %u, this program reads version %u", path.c_str(),
                   header.version, kArchiveVersion);
  if (header.header_size != sizeof header ||
      header.header_checksum != checksum(&header, offsetof(ArchiveHeader, header_checksum)))
    return damaged("the header's checksum differs");
  if (header.file_size != size)
    return failure(kUserError, "weights '%s' are damaged: %llu bytes long instead of %llu", path.c_str(),
                   static_cast<unsigned long long>(size), static_cast<unsigned long long>(header.file_size));
  if (std::memcmp(header.weights_id, weightsId, sizeof header.weights_id) != 0)
    return failure(kUserError, "weights '%s' belong to another build: %.32s, this program needs %.32s", path.c_str(),
                   header.weights_id, weightsId);
  return {};
}

Status Archive::checkTable() {
  if (header.table_offset < sizeof header || header.table_offset % 8 != 0 || header.table_offset > size ||
      header.table_size > size - header.table_offset || header.entry_count > header.table_size / sizeof(ArchiveEntry) ||
      header.entry_count > UINT32_MAX)
    return damaged("the table lies outside the file");
  // What is checked here is what is used later, whoever writes to the file meanwhile.
  if (!copy.reserve(header.table_size))
    return failure(kUserError, "out of memory: the table of weights '%s' needs %llu bytes", path.c_str(),
                   static_cast<unsigned long long>(header.table_size));
  char *table = static_cast<char *>(copy.data());
  if (header.table_size)
    std::memcpy(table, base + header.table_offset, header.table_size);
  if (header.table_checksum != checksum(table, header.table_size))
    return damaged("the table's checksum differs");
  entries = reinterpret_cast<const ArchiveEntry *>(table);
  count = header.entry_count;
  strings = table + count * sizeof(ArchiveEntry);
  stringsSize = header.table_size - count * sizeof(ArchiveEntry);
  byKey.resize(count);
  uint64_t keys = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (Status s = checkEntry(entries[i], i); s.failed())
      return s;
    keys += entries[i].key_size;
    byKey[i] = static_cast<uint32_t>(i);
  }
  if (keys > stringsSize) // to compare them would take more time than the file is long
    return damaged("keys of entries overlap");
  if (Status s = checkData(); s.failed())
    return s;
  auto before = [&](uint32_t a, uint32_t b) {
    return compareKey(entries[a], strings + entries[b].key_offset, entries[b].key_size) < 0;
  };
  std::sort(byKey.begin(), byKey.end(), before);
  for (uint64_t i = 1; i < count; ++i)
    if (!before(byKey[i - 1], byKey[i]))
      return failure(kUserError, "weights '%s' are damaged: entry '%s' appears twice", path.c_str(),
                     key(entries[byKey[i]]).c_str());
  return {};
}

/// Programs compute indices from bools.
static bool isNoBool(char byte) { return byte != 0 && byte != 1; }

/// Parts of an entry that a rank does not need are given back: no other entry may lie there.
Status Archive::checkData() {
  std::vector<uint32_t> order;
  for (uint32_t i : byKey)
    if (entries[i].size)
      order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return entries[a].offset < entries[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const ArchiveEntry &first = entries[order[i - 1]], &second = entries[order[i]];
    if (first.offset + first.size > second.offset)
      return failure(kUserError, "weights '%s' are damaged: entries '%s' and '%s' share bytes", path.c_str(),
                     key(first).c_str(), key(second).c_str());
  }
  for (uint32_t i : order) {
    const auto *data = static_cast<const char *>(this->data(entries[i]));
    if (entries[i].dtype == MOERT_BOOL && std::any_of(data, data + entries[i].size, isNoBool))
      return failure(kUserError, "weights '%s' are damaged: entry '%s': a bool in it is neither 0 nor 1", path.c_str(),
                     key(entries[i]).c_str());
  }
  return {};
}

Status Archive::checkEntry(const ArchiveEntry &entry, uint64_t index) {
  const char *fault = nullptr;
  uint64_t bytes = 0;
  if (entry.key_offset > stringsSize || entry.key_size > stringsSize - entry.key_offset)
    return failure(kUserError, "weights '%s' are damaged: the key of entry %llu lies outside the table", path.c_str(),
                   static_cast<unsigned long long>(index));
  if (!tensorBytes(entry.dtype, entry.rank, entry.sizes, bytes) || bytes != entry.size)
    fault = "its size does not follow from its type";
  else if (entry.offset % kArchiveAlignment != 0)
    fault = "it is not aligned";
  else if (entry.offset < sizeof(ArchiveHeader) || entry.offset > size || entry.size > size - entry.offset)
    fault = "it lies outside the file";
  else if (entry.size && entry.offset < header.table_offset + header.table_size &&
           entry.offset + entry.size > header.table_offset)
    fault = "it overlaps the table";
  if (fault)
    return failure(kUserError, "weights '%s' are damaged: entry '%s': %s", path.c_str(), key(entry).c_str(), fault);
  return {};
}

std::string Archive::key(const ArchiveEntry &entry) const {
  return std::string(strings + entry.key_offset, entry.key_size);
}

int Archive::compareKey(const ArchiveEntry &entry, const char *key, size_t keySize) const {
  size_t common = std::min<size_t>(entry.key_size, keySize);
  if (int order = common ? std::memcmp(strings + entry.key_offset, key, common) : 0)
    return order;
  return entry.key_size < keySize ? -1 : entry.key_size > keySize;
}

const ArchiveEntry *Archive::find(const char *key) const {
  size_t keySize = std::strlen(key);
  auto it = std::lower_bound(byKey.begin(), byKey.end(), 0,
                             [&](uint32_t i, int) { return compareKey(entries[i], key, keySize) < 0; });
  if (it == byKey.end() || compareKey(entries[*it], key, keySize) != 0)
    return nullptr;
  return &entries[*it];
}

Status Archive::verify() const {
  for (uint64_t i = 0; i < count; ++i)
    if (checksum(data(entries[i]), entries[i].size) != entries[i].checksum)
      return failure(kUserError, "weights '%s' are damaged: the data of entry '%s' has another checksum", path.c_str(),
                     key(entries[i]).c_str());
  return {};
}

void Archive::release(const void *begin, uint64_t bytes) {
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), from = reinterpret_cast<uint64_t>(begin);
  uint64_t first = alignTo(from, page), last = (from + bytes) / page * page;
  // The addresses stay taken, so that nothing else comes to lie there which the destructor would unmap.
  if (first < last)
    (void)mmap(reinterpret_cast<void *>(first), last - first, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

} // namespace moert
