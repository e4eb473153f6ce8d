//===- ArchiveTest.cpp - the file that the runtime will read ------------------------------------------------------===//

#include "moe-mlir/Weights/Archive.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <csignal>
#include <sys/resource.h>

using namespace llvm;
using namespace moe_mlir;
using moert::ArchiveEntry;
using moert::ArchiveHeader;

namespace {

constexpr StringRef kBuildId = "0123456789abcdef0123456789abcdef";

class ArchiveTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createTemporaryFile("archive", "weights", path));
    data.resize(1000);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<char>(i * 7);
  }
  void TearDown() override { sys::fs::remove(path); }

  std::vector<ArchiveEntryPlan> plans() {
    std::vector<ArchiveEntryPlan> result;
    for (int64_t count : {3, 0, 250, 17}) {
      Blob blob = Blob::contiguous(MOERT_F32, {count}, ArrayRef(data).take_front(count * 4));
      result.push_back({"w" + std::to_string(count), cantFail(PackedTensor::create({blob}, nullptr)), nullptr});
    }
    return result;
  }

  std::string write(unsigned threads) {
    ArchiveOptions options;
    options.threads = threads;
    cantFail(writeArchive(path, kBuildId, plans(), options));
    return cantFail(errorOrToExpected(MemoryBuffer::getFile(path)))->getBuffer().str();
  }

  SmallString<64> path;
  std::vector<char> data;
};

TEST_F(ArchiveTest, HasTheDocumentedForm) {
  std::string file = write(2);
  EXPECT_EQ(file.size(), archiveSize(plans()));
  ArchiveHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  EXPECT_EQ(StringRef(header.magic, 8), StringRef(moert::kArchiveMagic, 8));
  EXPECT_EQ(header.version, moert::kArchiveVersion);
  EXPECT_EQ(StringRef(header.weights_id, 32), kBuildId);
  EXPECT_EQ(header.file_size, file.size());
  EXPECT_EQ(header.header_checksum, moert::checksum(&header, offsetof(ArchiveHeader, header_checksum)));
  EXPECT_EQ(header.entry_count, 4u);
  ASSERT_EQ(header.table_offset + header.table_size, file.size());
  EXPECT_EQ(header.table_checksum, moert::checksum(file.data() + header.table_offset, header.table_size));

  const char *table = file.data() + header.table_offset;
  const char *strings = table + header.entry_count * sizeof(ArchiveEntry);
  int64_t counts[] = {3, 0, 250, 17};
  for (int i = 0; i < 4; ++i) {
    ArchiveEntry entry;
    std::memcpy(&entry, table + i * sizeof entry, sizeof entry);
    EXPECT_EQ(StringRef(strings + entry.key_offset, entry.key_size), "w" + std::to_string(counts[i]));
    EXPECT_EQ(entry.dtype, MOERT_F32);
    EXPECT_EQ(entry.rank, 1);
    EXPECT_EQ(entry.sizes[0], counts[i]);
    EXPECT_EQ(entry.size, static_cast<uint64_t>(counts[i] * 4));
    EXPECT_EQ(entry.offset % moert::kArchiveAlignment, 0u);
    EXPECT_GE(entry.offset, moert::kArchiveFirstAlignment);
    EXPECT_EQ(StringRef(file).substr(entry.offset, entry.size), StringRef(data.data(), entry.size));
    EXPECT_EQ(entry.checksum, moert::checksum(data.data(), entry.size));
  }
}

TEST_F(ArchiveTest, BytesDoNotDependOnThreads) { EXPECT_EQ(write(1), write(5)); }

// Data is written in units of 2 MiB: here one that no entry fills, whole ones, and one that two entries share.
TEST_F(ArchiveTest, LargeEntriesArriveWhole) {
  data.resize(11 << 20);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i * 7 + i / 4099);
  std::vector<ArchiveEntryPlan> large;
  size_t begin = 0;
  for (int64_t count : {700000, 3, 1048576, 900001}) {
    Blob blob = Blob::contiguous(MOERT_F32, {count}, ArrayRef(data).slice(begin, count * 4));
    large.push_back({"w" + std::to_string(count), cantFail(PackedTensor::create({blob}, nullptr)), nullptr});
    begin += count * 4;
  }
  ArchiveOptions options;
  options.threads = 2;
  cantFail(writeArchive(path, kBuildId, large, options));
  std::string file = cantFail(errorOrToExpected(MemoryBuffer::getFile(path)))->getBuffer().str();
  uint64_t offset = moert::kArchiveFirstAlignment;
  const char *expected = data.data();
  for (const ArchiveEntryPlan &plan : large) {
    offset = moert::alignTo(offset, plan.tensor.bytes() < 4096 ? 64 : 4096);
    EXPECT_TRUE(StringRef(file).substr(offset, plan.tensor.bytes()) == StringRef(expected, plan.tensor.bytes()));
    expected += plan.tensor.bytes();
    offset += plan.tensor.bytes();
  }
}

TEST_F(ArchiveTest, CancelStops) {
  std::atomic<bool> cancel{true};
  ArchiveOptions options;
  options.cancel = &cancel;
  EXPECT_NE(toString(writeArchive(path, kBuildId, plans(), options)).find("cancelled"), std::string::npos);
}

TEST_F(ArchiveTest, DamagedSourceStops) {
  std::vector<ArchiveEntryPlan> entries = plans();
  entries[2].check = [] { return createStringError("damaged"); };
  EXPECT_EQ(toString(writeArchive(path, kBuildId, entries)), "damaged");
}

TEST_F(ArchiveTest, SaysWhatCannotBeWritten) {
  std::string text = toString(writeArchive("/nonexistent/dir/a.weights", kBuildId, plans()));
  EXPECT_EQ(text, "cannot create '/nonexistent/dir/a.weights': No such file or directory");
  EXPECT_EQ(toString(writeArchive("/dev/full", kBuildId, plans())),
            "cannot write '/dev/full': No space left on device");
}

TEST_F(ArchiveTest, FileSizeLimit) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit old, small;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  std::string text = toString(writeArchive(path, kBuildId, plans()));
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(text.find("File too large"), std::string::npos) << text;
}

} // namespace
