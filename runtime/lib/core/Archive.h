//===- Archive.h - reader of weight archives ----------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_ARCHIVE_H
#define MOERT_LIB_CORE_ARCHIVE_H

#include "core/Memory.h"
#include "core/Status.h"
#include "moert/archive.h"

#include <string>
#include <vector>

namespace moert {

/// A weight archive, mapped read-only. After open() every entry is known to lie inside the file, apart from others,
/// aligned and as large as its type says; the bytes themselves are only checked by verify().
class Archive {
public:
  Archive() = default;
  Archive(const Archive &) = delete;
  Archive &operator=(const Archive &) = delete;
  ~Archive();

  /// Maps the file and checks everything but the data. `weightsId`: 32 hex digits that the file must carry.
  Status open(const char *path, const char *weightsId);

  /// The entry with that key, or null.
  const ArchiveEntry *find(const char *key) const;
  const void *data(const ArchiveEntry &entry) const { return base + entry.offset; }

  /// Reads all data and compares checksums; the error names the first damaged entry.
  Status verify() const;

  /// Gives back whole pages of this range of an entry's data, which then must not be read any more.
  void release(const void *begin, uint64_t bytes);

  /// What tells this archive from others: it depends on all data.
  uint64_t identity() const { return header.header_checksum; }
  uint64_t entryCount() const { return count; }
  uint64_t fileSize() const { return size; }

private:
  Status checkHeader(const char *weightsId);
  Status checkTable();
  Status checkData();
  Status checkEntry(const ArchiveEntry &entry, uint64_t index);
  Status damaged(const char *what) const;
  std::string key(const ArchiveEntry &entry) const;
  int compareKey(const ArchiveEntry &entry, const char *key, size_t size) const;

  std::string path;
  const char *base = nullptr;
  uint64_t size = 0;
  ArchiveHeader header = {};
  Memory copy; // of the table
  const ArchiveEntry *entries = nullptr;
  uint64_t count = 0;
  const char *strings = nullptr;
  uint64_t stringsSize = 0;
  std::vector<uint32_t> byKey; // indices of entries, sorted by key
};

} // namespace moert

#endif // MOERT_LIB_CORE_ARCHIVE_H
