/* archive.h - the file format of packed weights, shared by the compiler's writer and the runtime's reader.
 *
 * Everything is little-endian. A file is
 *
 *   ArchiveHeader                    at 0, 128 bytes
 *   data of the entries              each one on a 64-byte boundary, the first one and those of a page or more on a
 *                                    4096-byte boundary
 *   ArchiveEntry[entry_count]        at table_offset, 8-byte aligned   } one range of table_size bytes,
 *   string table                     right behind the entries          } covered by table_checksum
 *
 * The table may stand anywhere behind the header (a writer that streams puts it last). Keys lie in the string table
 * without terminators. Gaps are zero and not covered by a checksum. A reader checks at the start: magic, version,
 * header checksum, file size, build id, table checksum, and that every entry is in bounds, aligned and as large as its
 * dtype and sizes say. The data's own checksums are checked when asked for, as that reads every byte.
 */
#ifndef MOERT_ARCHIVE_H
#define MOERT_ARCHIVE_H

#include "moert/moert.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace moert {

constexpr char kArchiveMagic[8] = {'M', 'O', 'E', 'A', 'R', 'C', 'H', '\n'};
constexpr uint32_t kArchiveVersion = 1;
constexpr uint64_t kArchiveFirstAlignment = 4096;
constexpr uint64_t kArchiveAlignment = 64;

/// Where a writer puts an entry of `size` bytes. Readers only need kArchiveAlignment; weights that are asked for ahead
/// of their use arrive up to 1.4 times as fast if the steps of a product do not lie across pages.
inline uint64_t archiveAlignment(uint64_t size) {
  return size < kArchiveFirstAlignment ? kArchiveAlignment : kArchiveFirstAlignment;
}

struct ArchiveHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_size; // sizeof(ArchiveHeader)
  char weights_id[32];  // hex digits, without terminator; equals moert_program::weights_id
  uint64_t file_size;
  uint64_t table_offset;
  uint64_t table_size; // entries and strings together, bytes
  uint64_t table_checksum;
  uint64_t entry_count;
  uint64_t reserved[4];     // zero
  uint64_t header_checksum; // of all bytes before this field
};
static_assert(sizeof(ArchiveHeader) == 128, "the header is part of the format");

struct ArchiveEntry {
  uint64_t key_offset; // from the start of the string table
  uint32_t key_size;
  int32_t dtype; // moert_dtype
  int32_t rank;
  uint32_t reserved;             // zero
  int64_t sizes[MOERT_MAX_RANK]; // row-major; entries behind `rank` are zero
  uint64_t offset;               // from the start of the file
  uint64_t size;                 // bytes: product of the sizes times the element's size
  uint64_t checksum;             // of the data
};
static_assert(sizeof(ArchiveEntry) == 112, "the entry is part of the format");

/// Size of one element in bytes, 0 for an unknown dtype.
inline uint64_t dtypeSize(int32_t dtype) {
  switch (dtype) {
  case MOERT_F64:
  case MOERT_I64:
    return 8;
  case MOERT_F32:
  case MOERT_I32:
    return 4;
  case MOERT_BF16:
  case MOERT_F16:
  case MOERT_I16:
    return 2;
  case MOERT_I8:
  case MOERT_U8:
  case MOERT_BOOL:
    return 1;
  default:
    return 0;
  }
}

/// Bytes of a tensor, or false if the dtype, the rank or a size is invalid or the product does not fit 63 bits.
inline bool tensorBytes(int32_t dtype, int32_t rank, const int64_t *sizes, uint64_t &bytes) {
  bytes = dtypeSize(dtype);
  if (bytes == 0 || rank < 0 || rank > MOERT_MAX_RANK)
    return false;
  bool empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0)
      return false;
    if (sizes[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(sizes[i]), &bytes) || bytes >> 63)
      return false;
  }
  if (empty)
    bytes = 0;
  return true;
}

inline uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// A 64-bit checksum against damaged files (not against forgers). Four lanes take one 64-bit word of each 32-byte
/// stripe: `lane = rotate(lane, 29) * A ^ word * B` with odd A and B. Each step is a bijection of the lane and of the
/// word, as is the final fold in every lane, so damage within one word is always found, and other damage with
/// probability 1 - 2^-64. (B is there because a flipped top bit survives a single multiplication as one bit, which a
/// second flipped bit could cancel.) Measured: 13 GB/s on one core.
/// The last stripe is padded with zeros; the length is part of the result. Data may come in pieces of any size.
class Checksum {
public:
  void update(const void *data, size_t size) {
    const auto *p = static_cast<const unsigned char *>(data);
    total += size;
    if (pending) {
      size_t take = size < kStripe - pending ? size : kStripe - pending;
      if (take)
        std::memcpy(tail + pending, p, take);
      pending += take;
      p += take;
      size -= take;
      if (pending < kStripe)
        return;
      stripes(tail, 1);
      pending = 0;
    }
    stripes(p, size / kStripe);
    p += size / kStripe * kStripe;
    if ((pending = size % kStripe))
      std::memcpy(tail, p, pending);
  }

  uint64_t finish() {
    if (pending) {
      std::memset(tail + pending, 0, kStripe - pending);
      stripes(tail, 1);
      pending = 0;
    }
    uint64_t h = total * kA;
    for (uint64_t l : lane)
      h = rotate(h, 29) * kA ^ l * kB;
    h = (h ^ (h >> 32)) * kB;
    return h ^ (h >> 29);
  }

private:
  static constexpr size_t kStripe = 32;
  static constexpr uint64_t kA = 0xd6e8feb86659fd93u;
  static constexpr uint64_t kB = 0x9fb21c651e98df25u;

  static uint64_t rotate(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }

  void stripes(const unsigned char *p, size_t count) {
    uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];
    for (size_t i = 0; i < count; ++i, p += kStripe) {
      uint64_t w[4];
      std::memcpy(w, p, kStripe);
      a = rotate(a, 29) * kA ^ w[0] * kB;
      b = rotate(b, 29) * kA ^ w[1] * kB;
      c = rotate(c, 29) * kA ^ w[2] * kB;
      d = rotate(d, 29) * kA ^ w[3] * kB;
    }
    lane[0] = a, lane[1] = b, lane[2] = c, lane[3] = d;
  }

  uint64_t lane[4] = {0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u};
  uint64_t total = 0;
  unsigned char tail[kStripe];
  size_t pending = 0;
};

inline uint64_t checksum(const void *data, size_t size) {
  Checksum sum;
  sum.update(data, size);
  return sum.finish();
}

/// Fills the fields of a header that follow from the others: magic, version, sizes and the header's checksum.
inline void sealArchiveHeader(ArchiveHeader &header) {
  std::memcpy(header.magic, kArchiveMagic, sizeof header.magic);
  header.version = kArchiveVersion;
  header.header_size = sizeof(ArchiveHeader);
  std::memset(header.reserved, 0, sizeof header.reserved);
  header.header_checksum = checksum(&header, offsetof(ArchiveHeader, header_checksum));
}

} // namespace moert

#endif // MOERT_ARCHIVE_H
