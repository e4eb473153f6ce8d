//===- ZipWriter.cpp - archives of stored entries, in memory ----------------------------------------------------===//

#include "ZipWriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"

static void put(std::string &out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    out += i < sizeof value ? static_cast<char>(value >> 8 * i) : '\0';
}

/// What the header of an entry and its line in the directory have in common.
static void putEntry(std::string &out, llvm::StringRef name, llvm::StringRef data) {
  put(out, 20, 2); // version
  put(out, 0, 8);  // flags, method "stored", time, date
  put(out, llvm::crc32(llvm::arrayRefFromStringRef(data)), 4);
  put(out, data.size(), 4);
  put(out, data.size(), 4);
  put(out, name.size(), 2);
  put(out, 0, 2); // extra fields
}

void ZipWriter::add(llvm::StringRef name, llvm::StringRef data) {
  directory += "PK\1\2";
  put(directory, 20, 2);
  putEntry(directory, name, data);
  put(directory, 0, 10); // comment, disk, attributes
  put(directory, file.size(), 4);
  directory += name;
  file += "PK\3\4";
  putEntry(file, name, data);
  file += name;
  file += data;
  ++count;
}

std::string ZipWriter::finish() {
  uint64_t offset = file.size();
  file += directory;
  file += "PK\5\6";
  put(file, 0, 4); // disks
  put(file, count, 2);
  put(file, count, 2);
  put(file, directory.size(), 4);
  put(file, offset, 4);
  put(file, 0, 2); // comment
  return std::move(file);
}
