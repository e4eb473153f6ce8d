//===- CubinTest.cpp - registers as an image of machine code says them --------------------------------------------===//

#include "Cubin.h"

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <string>

using namespace moert;

namespace {

template <typename T> void append(std::string &text, const T &value) {
  text.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// An ELF file with the sections "", .shstrtab and one of the given name.
std::string makeElf(const char *name, const std::string &content) {
  std::string names = std::string("\0.shstrtab\0", 11) + name + '\0', file(sizeof(Elf64_Ehdr), '\0');
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = file.size();
  sections[1].sh_size = names.size();
  file += names;
  sections[2].sh_name = 11;
  sections[2].sh_type = 0x70000000; // the processor's own
  sections[2].sh_offset = file.size();
  sections[2].sh_size = content.size();
  file += content;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  for (const Elf64_Shdr &section : sections)
    append(file, section);
  std::memcpy(&file[0], &header, sizeof header);
  return file;
}

/// What ptxas writes: the size of the frame, then the count of registers, for symbol 47.
std::string attributes(uint32_t registers) {
  std::string text("\x01\x02\x00\x00\x04\x11\x08\x00", 8);
  append(text, uint64_t(47));
  text.append("\x04\x2f\x08\x00", 4);
  append(text, uint32_t(47));
  append(text, registers);
  return text;
}

int32_t registersOf(const std::string &file) { return cubinRegisters(file.data(), static_cast<int64_t>(file.size())); }

TEST(Cubin, SaysItsRegisters) {
  EXPECT_EQ(registersOf(makeElf(".nv.info", attributes(59))), 59);
  EXPECT_EQ(registersOf(makeElf(".nv.info", attributes(168))), 168);
}

TEST(Cubin, MayNotSayThem) {
  EXPECT_EQ(registersOf(""), -1);
  EXPECT_EQ(registersOf("not machine code"), -1);
  EXPECT_EQ(registersOf(makeElf(".nv.info.scale", attributes(59))), -1);
  EXPECT_EQ(registersOf(makeElf(".nv.info", "")), -1);
}

TEST(Cubin, IsReadWithinItsBounds) {
  std::string whole = makeElf(".nv.info", attributes(59));
  // Copies of the exact size, so that a sanitizer sees every access behind the end.
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string *part = new std::string(whole, 0, size);
    part->shrink_to_fit();
    EXPECT_EQ(registersOf(*part), -1) << size;
    delete part;
  }
  for (size_t size = 0; size < 28; ++size)
    (void)registersOf(makeElf(".nv.info", attributes(59).substr(0, size)));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = '\xff';
    (void)registersOf(damaged);
  }
}

} // namespace
