//===- NpyFuzz.cpp - any bytes as an .npy file --------------------------------------------------------------------===//
//
// The first byte chooses the element type that is asked for, the rest is the file; or, if its top bit is set, the
// header's text up to the end of the line and the data, which get a magic number and the right length in front. What
// can be read is written again and must come back the same.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Fuzz.h"
#include "Npy.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace moert;

static bool sameTensor(const Tensor &a, const Tensor &b) {
  uint64_t bytes = 0;
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.sizes, a.sizes + a.rank, b.sizes) &&
         tensorBytes(a.dtype, a.rank, a.sizes, bytes) && (bytes == 0 || std::memcmp(a.data, b.data, bytes) == 0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  int32_t dtype = (data[0] & 0x7f) % (MOERT_BOOL + 1);
  std::string bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (data[0] & 0x80) {
    size_t length = std::min(bytes.find('\n'), bytes.size());
    char head[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(length), static_cast<char>(length >> 8)};
    bytes.insert(0, head, sizeof head);
  }
  MemoryFile file(bytes.data(), bytes.size());
  Tensor array;
  if (Status s = readNpy(file.path(), dtype, array); s.failed()) {
    FUZZ_CHECK(s.code == kUserError && !s.message.empty());
    return 0;
  }
  uint64_t read = 0;
  FUZZ_CHECK(array.dtype == dtype && tensorBytes(array.dtype, array.rank, array.sizes, read) && read <= size);
  readAllBytes(array.data, read);
  // bfloat16 is written as float32, which is as many bytes again; NaNs may lose their payload there.
  if (dtype == MOERT_BF16)
    return 0;
  std::string copy = "/tmp/moert-npy-fuzz." + std::to_string(getpid());
  moert_tensor out = {array.dtype, array.rank, {}, array.data};
  std::copy(array.sizes, array.sizes + array.rank, out.sizes);
  {
    OutputFile written;
    FUZZ_CHECK(!written.open(copy).failed() && !writeNpy(written, out).failed() && !written.commit().failed());
  }
  Tensor again;
  FUZZ_CHECK(!readNpy(copy, dtype, again).failed() && sameTensor(array, again));
  unlink(copy.c_str());
  return 0;
}
