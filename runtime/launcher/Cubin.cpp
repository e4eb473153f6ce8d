//===- Cubin.cpp - what an image of machine code says of itself ---------------------------------------------------===//
//
// A cubin is an ELF file. Its section .nv.info is a list of attributes: a byte for the format, one for the kind, two
// for the value, or for its size where the format is 4. The kind 0x2f holds a symbol and its count of registers.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Cubin.h"

#include <cstring>
#include <elf.h>

namespace moert {

static int32_t findRegisters(const unsigned char *list, uint64_t size) {
  constexpr unsigned kSized = 4, kRegisters = 0x2f;
  for (uint64_t at = 0; size - at >= 4;) {
    uint16_t length;
    std::memcpy(&length, list + at + 2, sizeof length);
    uint64_t rest = list[at] == kSized ? length : 0;
    if (rest > size - at - 4)
      return -1;
    if (list[at] == kSized && list[at + 1] == kRegisters && length == 8) {
      int32_t count;
      std::memcpy(&count, list + at + 8, sizeof count);
      return count;
    }
    at += 4 + rest;
  }
  return -1;
}

int32_t cubinRegisters(const void *cubin, int64_t bytes) {
  const auto *file = static_cast<const unsigned char *>(cubin);
  auto size = static_cast<uint64_t>(bytes);
  Elf64_Ehdr header;
  if (bytes < static_cast<int64_t>(sizeof header))
    return -1;
  std::memcpy(&header, file, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size ||
      (size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
    return -1;
  auto section = [&](unsigned index) {
    Elf64_Shdr s;
    std::memcpy(&s, file + header.e_shoff + index * sizeof s, sizeof s);
    return s;
  };
  if (header.e_shstrndx >= header.e_shnum)
    return -1;
  Elf64_Shdr names = section(header.e_shstrndx);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    constexpr char kName[] = ".nv.info";
    Elf64_Shdr s = section(i);
    uint64_t name = names.sh_offset + s.sh_name;
    if (s.sh_type == SHT_NOBITS || s.sh_offset > size || s.sh_size > size - s.sh_offset || name > size ||
        size - name < sizeof kName || std::memcmp(file + name, kName, sizeof kName) != 0)
      continue;
    return findRegisters(file + s.sh_offset, s.sh_size);
  }
  return -1;
}

} // namespace moert
