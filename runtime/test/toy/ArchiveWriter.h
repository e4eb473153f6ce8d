//===- ArchiveWriter.h - archives for tests, built in memory ------------------------------------------------------===//
#ifndef MOERT_TEST_TOY_ARCHIVEWRITER_H
#define MOERT_TEST_TOY_ARCHIVEWRITER_H

#include "moert/archive.h"

#include <string>
#include <vector>

struct ArchiveWriter {
  std::string weightsId = std::string(32, '0');
  std::vector<moert::ArchiveEntry> entries;
  std::string data, strings;

  void add(const std::string &key, int32_t dtype, const std::vector<int64_t> &sizes, const void *bytes) {
    moert::ArchiveEntry entry = {};
    entry.key_offset = strings.size();
    entry.key_size = static_cast<uint32_t>(key.size());
    entry.dtype = dtype;
    entry.rank = static_cast<int32_t>(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i)
      entry.sizes[i] = sizes[i];
    moert::tensorBytes(dtype, entry.rank, entry.sizes, entry.size);
    data.resize(moert::alignTo(data.size(), moert::kArchiveAlignment));
    entry.offset = moert::kArchiveFirstAlignment + data.size();
    entry.checksum = moert::checksum(bytes, entry.size);
    data.append(static_cast<const char *>(bytes), entry.size);
    strings += key;
    entries.push_back(entry);
  }

  std::string finish() {
    data.resize(moert::alignTo(data.size(), 8));
    std::string table(reinterpret_cast<const char *>(entries.data()), entries.size() * sizeof(moert::ArchiveEntry));
    table += strings;
    moert::ArchiveHeader header = {};
    std::memcpy(header.weights_id, weightsId.data(), sizeof header.weights_id);
    header.table_offset = moert::kArchiveFirstAlignment + data.size();
    header.table_size = table.size();
    header.table_checksum = moert::checksum(table.data(), table.size());
    header.entry_count = entries.size();
    header.file_size = header.table_offset + table.size();
    moert::sealArchiveHeader(header);
    std::string file(reinterpret_cast<const char *>(&header), sizeof header);
    file.resize(moert::kArchiveFirstAlignment);
    return file + data + table;
  }
};

#endif // MOERT_TEST_TOY_ARCHIVEWRITER_H
