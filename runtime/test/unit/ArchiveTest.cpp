//===- ArchiveTest.cpp - the reader of weight archives ------------------------------------------------------------===//

#include "core/Archive.h"
#include "ArchiveWriter.h"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace moert;

namespace {

class ArchiveTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "archive." + std::to_string(getpid());
    for (int i = 0; i < 100; ++i)
      values.push_back(static_cast<float>(i));
    writer.add("b.second", MOERT_F32, {10, 10}, values.data());
    writer.add("a.first", MOERT_BF16, {3}, values.data());
    writer.add("empty", MOERT_I64, {0, 5}, nullptr);
    writer.add("b", MOERT_U8, {}, values.data());
  }
  void TearDown() override { unlink(path.c_str()); }

  void store(const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  Status open(const std::string &bytes) {
    store(bytes);
    Archive archive;
    return archive.open(path.c_str(), std::string(32, '0').c_str());
  }
  /// The error of an archive whose header or entries were changed, with right checksums.
  std::string entryError(size_t index, void (*change)(ArchiveEntry &)) {
    ArchiveWriter changed = writer;
    change(changed.entries[index]);
    return open(changed.finish()).message;
  }
  std::string headerError(void (*change)(ArchiveHeader &)) {
    std::string bytes = writer.finish();
    auto *header = reinterpret_cast<ArchiveHeader *>(&bytes[0]);
    change(*header);
    header->header_checksum = checksum(header, offsetof(ArchiveHeader, header_checksum));
    return open(bytes).message;
  }
  bool contains(const std::string &text, const std::string &part) {
    if (text.find(part) != std::string::npos)
      return true;
    std::printf("'%s' does not contain '%s'\n", text.c_str(), part.c_str());
    return false;
  }

  std::string path;
  std::vector<float> values;
  ArchiveWriter writer;
};

TEST_F(ArchiveTest, FindsEntries) {
  store(writer.finish());
  Archive archive;
  ASSERT_EQ(archive.open(path.c_str(), std::string(32, '0').c_str()).message, "");
  ASSERT_FALSE(archive.verify().failed());
  const ArchiveEntry *entry = archive.find("b.second");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(std::memcmp(archive.data(*entry), values.data(), 400), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(archive.data(*entry)) % 64, 0u);
  EXPECT_EQ(archive.find("a.first")->size, 6u);
  EXPECT_EQ(archive.find("b")->rank, 0);
  EXPECT_EQ(archive.find("empty")->size, 0u);
  for (const char *missing : {"", "a", "a.firsts", "b.secon", "z"})
    EXPECT_EQ(archive.find(missing), nullptr) << missing;
}

TEST_F(ArchiveTest, EveryDamagedByteIsFound) {
  std::string bytes = writer.finish();
  const ArchiveHeader header = *reinterpret_cast<const ArchiveHeader *>(bytes.data());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bool covered = i < sizeof(ArchiveHeader) || i >= header.table_offset;
    if (!covered)
      continue;
    bytes[i] ^= 0x10;
    EXPECT_TRUE(open(bytes).failed()) << "byte " << i;
    bytes[i] ^= 0x10;
  }
}

TEST_F(ArchiveTest, EveryLengthIsChecked) {
  std::string bytes = writer.finish();
  for (size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 97)
    EXPECT_TRUE(open(bytes.substr(0, size)).failed()) << size;
  EXPECT_TRUE(contains(open(bytes + "x").message, "bytes long instead of"));
  EXPECT_TRUE(contains(open("").message, "only 0 bytes"));
}

TEST_F(ArchiveTest, VerifyNamesTheDamagedEntry) {
  std::string bytes = writer.finish();
  bytes[kArchiveFirstAlignment + 399] ^= 1;
  store(bytes);
  Archive archive;
  ASSERT_FALSE(archive.open(path.c_str(), std::string(32, '0').c_str()).failed());
  EXPECT_TRUE(contains(archive.verify().message, "the data of entry 'b.second' has another checksum"));
}

TEST_F(ArchiveTest, RefusesOtherFiles) {
  writer.weightsId = std::string(32, '1');
  EXPECT_TRUE(contains(open(writer.finish()).message, "belong to another build: 1111"));
  EXPECT_TRUE(contains(open(std::string(1000, 'x')).message, "not a weight archive"));
  Archive archive;
  EXPECT_TRUE(contains(archive.open("/", "").message, "not a file but a folder"));
  EXPECT_TRUE(contains(Archive().open("/nonexistent", "").message, "No such file"));
}

TEST_F(ArchiveTest, RefusesLyingTables) {
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.offset = uint64_t(1) << 40; }), "outside the file"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.offset = ~uint64_t(63); }), "outside the file"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.offset = 0; }), "outside the file"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.offset += 4; }), "not aligned"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.offset += 64 * 7; }), "overlaps the table"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.size -= 4; }), "does not follow"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.dtype = 77; }), "does not follow"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.rank = 9; }), "does not follow"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.sizes[0] = -1; }), "does not follow"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.sizes[0] = e.sizes[1] = int64_t(1) << 40; }), "follow"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.key_offset = ~uint64_t(0); }), "key of entry 0"));
  EXPECT_TRUE(contains(entryError(0, [](ArchiveEntry &e) { e.key_size = ~0u; }), "key of entry 0"));
  writer.add("b", MOERT_U8, {}, values.data());
  EXPECT_TRUE(contains(open(writer.finish()).message, "entry 'b' appears twice"));
}

TEST_F(ArchiveTest, RefusesEntriesThatShareBytes) {
  ArchiveWriter shared = writer; // "a.first" inside of "b.second"
  shared.entries[1].offset = shared.entries[0].offset + 64;
  EXPECT_TRUE(contains(open(shared.finish()).message, "entries 'b.second' and 'a.first' share bytes"));
  ArchiveWriter empty = writer; // no bytes, so none that are shared
  empty.entries[2].offset = empty.entries[0].offset + 64;
  EXPECT_EQ(open(empty.finish()).message, "");
  ArchiveWriter keys = writer;
  keys.entries[1].key_offset = 0;
  keys.entries[1].key_size = 8;
  EXPECT_TRUE(contains(open(keys.finish()).message, "keys of entries overlap"));
}

/// A file of 5 MB whose entries, one by one, are 60 GB of bools and 20 GB of keys.
TEST_F(ArchiveTest, TakesTimeInProportionToItsSize) {
  std::string ones(4 << 20, '\1');
  for (bool isData : {true, false}) {
    ArchiveWriter many;
    many.add(std::string(isData ? 1 : 1 << 20, 'k'), MOERT_BOOL, {4 << 20}, ones.data());
    for (uint32_t i = 1; i < 15000; ++i) {
      many.entries.push_back(many.entries[0]);
      ArchiveEntry &entry = many.entries.back();
      if (isData) {
        std::string key = "k" + std::to_string(i);
        entry.key_offset = many.strings.size();
        entry.key_size = static_cast<uint32_t>(key.size());
        many.strings += key;
      } else {
        entry.key_offset = i;
        entry.key_size -= 15000;
        entry.sizes[0] = 0;
        entry.size = 0;
      }
    }
    auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(contains(open(many.finish()).message, isData ? "share bytes" : "keys of entries overlap"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

/// What the table said when it was checked holds, whoever writes to the file later.
TEST_F(ArchiveTest, TheTableIsReadOnce) {
  std::string bytes = writer.finish();
  store(bytes);
  Archive archive;
  ASSERT_FALSE(archive.open(path.c_str(), std::string(32, '0').c_str()).failed());
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(reinterpret_cast<ArchiveHeader *>(&bytes[0])->table_offset));
  file << std::string(200, '\xff');
  file.close();
  const ArchiveEntry *entry = archive.find("b.second");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->offset, kArchiveFirstAlignment);
  EXPECT_FALSE(archive.verify().failed());
}

TEST_F(ArchiveTest, BoolsAreZeroOrOne) {
  uint8_t flags[] = {0, 1, 1};
  ArchiveWriter right = writer, wrong = writer;
  right.add("flags", MOERT_BOOL, {3}, flags);
  EXPECT_EQ(open(right.finish()).message, "");
  flags[2] = 2;
  wrong.add("flags", MOERT_BOOL, {3}, flags);
  EXPECT_TRUE(contains(open(wrong.finish()).message, "entry 'flags': a bool in it is neither 0 nor 1"));
}

TEST_F(ArchiveTest, RefusesLyingHeaders) {
  EXPECT_TRUE(contains(headerError([](ArchiveHeader &h) { h.version = 9; }), "format version 9"));
  EXPECT_TRUE(contains(headerError([](ArchiveHeader &h) { h.header_size = 64; }), "header"));
  EXPECT_TRUE(contains(headerError([](ArchiveHeader &h) { h.table_offset = ~uint64_t(7); }), "table lies outside"));
  EXPECT_TRUE(contains(headerError([](ArchiveHeader &h) { h.table_offset = 8; }), "table lies outside"));
  EXPECT_TRUE(contains(headerError([](ArchiveHeader &h) { h.table_size = ~uint64_t(0); }), "table lies outside"));
  EXPECT_TRUE(
      contains(headerError([](ArchiveHeader &h) { h.entry_count = ~uint64_t(0) / 112; }), "table lies outside"));
  EXPECT_TRUE(contains(headerError([](ArchiveHeader &h) { h.entry_count = 6; }), "table lies outside"));
}

TEST(Checksum, DependsOnEveryBitAndTheLengthButNotOnPieces) {
  std::set<uint64_t> seen;
  size_t cases = 0;
  for (size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    seen.insert(checksum(bytes.data(), size));
    ++cases;
    for (size_t bit = 0; bit < size * 8; ++bit, ++cases) {
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
      uint64_t whole = checksum(bytes.data(), size);
      seen.insert(whole);
      Checksum pieces;
      pieces.update(bytes.data(), size / 3);
      pieces.update(bytes.data() + size / 3, 0);
      pieces.update(bytes.data() + size / 3, size - size / 3);
      ASSERT_EQ(pieces.finish(), whole);
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
  }
  EXPECT_EQ(seen.size(), cases);
}

/// The format's definition: an archive written today has to be readable tomorrow.
TEST(Checksum, ValuesAreFixed) {
  EXPECT_EQ(checksum("", 0), 3960238127891310493u);
  EXPECT_EQ(checksum("mixture of experts", 18), 3637564606553006539u);
}

} // namespace
