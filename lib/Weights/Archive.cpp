//===- Archive.cpp - writes the weight archive of a compiled program ----------------------------------------------===//

#include "moe-mlir/Weights/Archive.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MathExtras.h"

#include <fcntl.h>
#include <mutex>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;
using moert::ArchiveEntry;
using moert::ArchiveHeader;

namespace {

/// The file being written. Pieces may be written from several threads; the first error is kept.
class File {
public:
  File(StringRef path, StringRef name) : name(name.empty() ? path : name) {
    fd = open(path.str().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
      fail("cannot create", errno);
  }
  ~File() {
    if (fd >= 0)
      close(fd);
  }

  /// Asks for the disk space at once, so that a full disk is found before the work. Not every file system can.
  void reserve(uint64_t size) {
    if (!failed() && fallocate(fd, 0, 0, static_cast<off_t>(size)) != 0 && (errno == ENOSPC || errno == EFBIG))
      fail("cannot write " + std::to_string(size) + " bytes to", errno);
  }

  bool write(const void *data, size_t size, uint64_t offset) {
    const char *p = static_cast<const char *>(data);
    while (size > 0 && !failed()) {
      ssize_t n = pwrite(fd, p, size, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0) {
        fail("cannot write", n < 0 ? errno : EIO);
        break;
      }
      p += n;
      size -= n;
      offset += n;
    }
    return !failed();
  }

  void fail(StringRef what, int code) { fail((what + " '" + name + "': " + sys::StrError(code)).str()); }
  void fail(std::string text) {
    std::lock_guard<std::mutex> lock(mutex);
    if (message.empty())
      message = std::move(text);
    bad = true;
  }
  bool failed() const { return bad; }

  Error finish() {
    if (fd >= 0 && close(std::exchange(fd, -1)) != 0)
      fail("cannot write", errno);
    return bad ? createStringError(message) : Error::success();
  }

private:
  std::string name, message;
  int fd = -1;
  std::mutex mutex;
  std::atomic<bool> bad{false};
};

/// Writes a stretch of a file in units of 2 MiB that end at multiples of 2 MiB. A page cache keeps what one call wrote
/// in pages as large as the call and its place allow, and whoever maps the file gets these pages: in pages of 4 KiB,
/// weights arrive 10 to 30 % slower.
class UnitWriter {
public:
  UnitWriter(File &file, uint64_t offset) : file(file), offset(offset) { unit.reserve(kUnit); }

  bool write(ArrayRef<char> piece) {
    while (!piece.empty()) {
      size_t room = kUnit - (offset + unit.size()) % kUnit;
      ArrayRef<char> part = piece.take_front(room);
      piece = piece.drop_front(part.size());
      unit.append(part.begin(), part.end());
      if (part.size() == room && !flush())
        return false;
    }
    return true;
  }

  /// Writes what is left.
  bool flush() {
    bool written = file.write(unit.data(), unit.size(), offset);
    offset += unit.size();
    unit.clear();
    return written;
  }

private:
  static constexpr size_t kUnit = size_t(2) << 20;
  File &file;
  uint64_t offset;
  SmallVector<char, 0> unit;
};

/// Places of everything in the file: they follow from the keys and sizes.
struct Layout {
  std::vector<ArchiveEntry> entries;
  std::string strings;
  uint64_t tableOffset = 0, tableSize = 0, fileSize = 0;

  explicit Layout(ArrayRef<ArchiveEntryPlan> plans) {
    uint64_t offset = moert::kArchiveFirstAlignment;
    for (const ArchiveEntryPlan &plan : plans) {
      ArchiveEntry entry = {};
      entry.key_offset = strings.size();
      entry.key_size = static_cast<uint32_t>(plan.key.size());
      strings += plan.key;
      entry.dtype = plan.tensor.dtype();
      entry.rank = static_cast<int32_t>(plan.tensor.sizes().size());
      llvm::copy(plan.tensor.sizes(), entry.sizes);
      entry.size = plan.tensor.bytes();
      entry.offset = moert::alignTo(offset, moert::archiveAlignment(entry.size));
      offset = entry.offset + entry.size;
      entries.push_back(entry);
    }
    tableOffset = moert::alignTo(offset, moert::kArchiveAlignment);
    tableSize = entries.size() * sizeof(ArchiveEntry) + strings.size();
    fileSize = tableOffset + tableSize;
  }
};

} // namespace

uint64_t moe_mlir::archiveSize(ArrayRef<ArchiveEntryPlan> entries) { return Layout(entries).fileSize; }

/// Writes one entry's data and fills in its checksum.
static void writeEntry(File &file, ArchiveEntry &entry, const ArchiveEntryPlan &plan, std::atomic<uint64_t> &done,
                       const ArchiveOptions &options) {
  if (plan.check)
    if (Error error = plan.check())
      return file.fail(toString(std::move(error)));
  moert::Checksum sum;
  UnitWriter writer(file, entry.offset);
  plan.tensor.produce([&](ArrayRef<char> piece) {
    if (options.cancel && *options.cancel) {
      file.fail("cancelled");
      return false;
    }
    sum.update(piece.data(), piece.size());
    done += piece.size();
    return writer.write(piece);
  });
  writer.flush();
  entry.checksum = sum.finish();
}

/// Largest first, so that the threads end at about the same time.
static void writeData(File &file, Layout &layout, ArrayRef<ArchiveEntryPlan> plans, const ArchiveOptions &options) {
  std::vector<size_t> order(plans.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(layout.entries[b].size, a) < std::make_pair(layout.entries[a].size, b);
  });
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> done{0};
  std::mutex reporting;
  auto work = [&] {
    for (size_t i; (i = next++) < order.size() && !file.failed();) {
      writeEntry(file, layout.entries[order[i]], plans[order[i]], done, options);
      if (options.progress && reporting.try_lock()) {
        options.progress(done);
        reporting.unlock();
      }
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < options.threads; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

Error moe_mlir::writeArchive(StringRef path, StringRef weightsId, ArrayRef<ArchiveEntryPlan> plans,
                             const ArchiveOptions &options) {
  assert(weightsId.size() == sizeof(ArchiveHeader::weights_id) && "an id has 32 digits");
  Layout layout(plans);
  File file(path, options.name);
  file.reserve(layout.fileSize);
  if (!file.failed())
    writeData(file, layout, plans, options);

  std::string table(reinterpret_cast<const char *>(layout.entries.data()),
                    layout.entries.size() * sizeof(ArchiveEntry));
  table += layout.strings;
  file.write(table.data(), table.size(), layout.tableOffset);

  ArchiveHeader header = {};
  std::memcpy(header.weights_id, weightsId.data(), sizeof header.weights_id);
  header.file_size = layout.fileSize;
  header.table_offset = layout.tableOffset;
  header.table_size = layout.tableSize;
  header.table_checksum = moert::checksum(table.data(), table.size());
  header.entry_count = plans.size();
  moert::sealArchiveHeader(header);
  file.write(&header, sizeof header, 0);
  return file.finish();
}
