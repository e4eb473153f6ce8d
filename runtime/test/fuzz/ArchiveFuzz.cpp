//===- ArchiveFuzz.cpp - any bytes as a weight archive ------------------------------------------------------------===//
//
// Checksums would stop nearly every damaged file at the door. The first byte can ask for right ones in the header, and
// for entries whose number of bytes follows from their type, so that what lies behind is reached as by a forger.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Fuzz.h"
#include "core/Archive.h"

#include <cstring>

using namespace moert;

static void seal(std::string &file, bool entries) {
  if (file.size() < sizeof(ArchiveHeader))
    return;
  ArchiveHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  uint64_t end = header.table_offset;
  for (uint64_t i = 0; entries && i < header.entry_count && end <= file.size(); ++i) {
    ArchiveEntry entry;
    if (file.size() - end < sizeof entry)
      break;
    std::memcpy(&entry, &file[end], sizeof entry);
    tensorBytes(entry.dtype, entry.rank, entry.sizes, entry.size);
    std::memcpy(&file[end], &entry, sizeof entry);
    end += sizeof entry;
  }
  header.file_size = file.size();
  std::memset(header.weights_id, '0', sizeof header.weights_id);
  if (header.table_offset <= file.size() && header.table_size <= file.size() - header.table_offset)
    header.table_checksum = checksum(file.data() + header.table_offset, header.table_size);
  sealArchiveHeader(header);
  std::memcpy(&file[0], &header, sizeof header);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (data[0] & 1)
    seal(bytes, data[0] & 2);
  MemoryFile file(bytes.data(), bytes.size());
  Archive archive;
  if (Status s = archive.open(file.path().c_str(), std::string(32, '0').c_str()); s.failed()) {
    FUZZ_CHECK((s.code == kUserError || s.code == kUnsupported) && !s.message.empty());
    return 0;
  }
  (void)archive.verify();
  FUZZ_CHECK(archive.fileSize() == bytes.size());
  for (const char *key : {"", "a.first", "b", "b.second", "empty", "x"})
    if (const ArchiveEntry *entry = archive.find(key))
      readAllBytes(archive.data(*entry), entry->size);
  return 0;
}
