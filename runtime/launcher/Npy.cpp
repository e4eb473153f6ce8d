//===- Npy.cpp - NumPy's array files ------------------------------------------------------------------------------===//

#include "Npy.h"

#include "core/InputFile.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace moert {

namespace {

constexpr char kMagic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
constexpr uint32_t kMaxHeader = 1 << 16;

/// A file that is read front to back, with its size known.
class Reader {
public:
  explicit Reader(const std::string &path) : path(path), file(path), left(file.size) {}
  Status check() const {
    if (file.kind)
      return fault(format("it is %s, not a file", file.kind));
    return file.fd < 0 ? fault(strerror(file.error)) : Status{};
  }
  Status read(void *data, uint64_t size) {
    if (size > left)
      return fault("the file is too short");
    left -= size;
    for (char *p = static_cast<char *>(data); size;) {
      ssize_t got = ::read(file.fd, p, size);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return fault(got ? strerror(errno) : "the file became shorter");
      p += got;
      size -= static_cast<uint64_t>(got);
    }
    return {};
  }
  Status fault(const std::string &what) const {
    return failure(kUserError, "cannot read '%s': %s", path.c_str(), what.c_str());
  }

private:
  std::string path;
  InputFile file;

public:
  uint64_t left;
};

/// Element types by NumPy's names. The type of raw pairs of bytes is bfloat16.
struct TypeName {
  const char *descr;
  int32_t dtype;
};
const TypeName kTypes[] = {{"<f4", MOERT_F32},  {"<f2", MOERT_F16},  {"<f8", MOERT_F64}, {"<i8", MOERT_I64},
                           {"<i4", MOERT_I32},  {"<i2", MOERT_I16},  {"|i1", MOERT_I8},  {"|u1", MOERT_U8},
                           {"|b1", MOERT_BOOL}, {"|V2", MOERT_BF16}, {"<V2", MOERT_BF16}};

} // namespace

static Status readHeader(Reader &file, NpyHeader &header) {
  unsigned char head[12];
  if (file.left < 10)
    return file.fault("not an .npy file");
  if (Status s = file.read(head, 8); s.failed())
    return s;
  if (std::memcmp(head, kMagic, sizeof kMagic) != 0)
    return file.fault("not an .npy file");
  unsigned version = head[6];
  if (version < 1 || version > 3 || head[7] != 0)
    return file.fault(format("version %u.%u of the format is unknown", version, head[7]));
  int bytes = version == 1 ? 2 : 4;
  if (Status s = file.read(head, bytes); s.failed())
    return s;
  uint32_t length = 0;
  for (int i = 0; i < bytes; ++i)
    length |= static_cast<uint32_t>(head[i]) << (8 * i);
  if (length > kMaxHeader || length > file.left)
    return file.fault("damaged header: it is longer than the file, or than 64 KB");
  std::string text(length, '\0');
  if (Status s = file.read(&text[0], length); s.failed())
    return s;
  if (Status s = parseNpyHeader(text, header); s.failed())
    return file.fault(s.message);
  return {};
}

static Status convertToBf16(Reader &file, uint64_t count, uint16_t *target) {
  constexpr uint64_t kPiece = 1024;
  float piece[kPiece];
  for (uint64_t done = 0; done < count;) {
    uint64_t n = count - done < kPiece ? count - done : kPiece;
    if (Status s = file.read(piece, n * sizeof(float)); s.failed())
      return s;
    for (uint64_t i = 0; i < n; ++i)
      target[done++] = toBf16(piece[i]);
  }
  return {};
}

Status readNpy(const std::string &path, int32_t dtype, Tensor &array) {
  Reader file(path);
  NpyHeader header;
  if (Status s = file.check(); s.failed())
    return s;
  if (Status s = readHeader(file, header); s.failed())
    return s;
  int32_t stored = -1;
  for (const TypeName &type : kTypes)
    if (header.descr == type.descr)
      stored = type.dtype;
  if (stored < 0)
    return file.fault(header.descr.find('O') != std::string::npos
                          ? "pickled objects are not read"
                          : format("elements of type '%s' are not supported", header.descr.c_str()));
  bool widened = dtype == MOERT_BF16 && stored == MOERT_F32;
  if (stored != dtype && !widened)
    return file.fault(format("its elements are %s, expected %s", dtypeName(stored), dtypeName(dtype)));
  if (header.fortranOrder && header.rank > 1)
    return file.fault("it is in Fortran order; save numpy.ascontiguousarray(a)");
  uint64_t bytes = 0, size = 0;
  if (!tensorBytes(stored, header.rank, header.sizes, bytes) || bytes != file.left)
    return file.fault("its length does not agree with its header");
  tensorBytes(dtype, header.rank, header.sizes, size);
  if (!array.memory.reserve(size))
    return file.fault("out of memory");
  array.dtype = dtype;
  array.rank = header.rank;
  std::memcpy(array.sizes, header.sizes, sizeof array.sizes);
  array.data = array.memory.data();
  if (widened)
    return convertToBf16(file, size / 2, static_cast<uint16_t *>(array.data));
  if (Status s = file.read(array.data, bytes); s.failed())
    return s;
  // Compiled code relies on bools being 0 or 1.
  if (dtype == MOERT_BOOL)
    for (uint64_t i = 0; i < bytes; ++i)
      static_cast<uint8_t *>(array.data)[i] = static_cast<uint8_t *>(array.data)[i] != 0;
  return {};
}

Status writeNpy(OutputFile &file, const moert_tensor &array) {
  int32_t stored = array.dtype == MOERT_BF16 ? static_cast<int32_t>(MOERT_F32) : array.dtype;
  const char *descr = "";
  for (const TypeName &type : kTypes)
    if (type.dtype == stored)
      descr = type.descr;
  std::string shape;
  for (int32_t i = 0; i < array.rank; ++i)
    shape += format(i + 1 < array.rank || array.rank == 1 ? "%lld, " : "%lld", static_cast<long long>(array.sizes[i]));
  if (array.rank == 1)
    shape.pop_back();
  std::string text = format("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape.c_str());
  constexpr size_t kPrefix = 10;
  while ((kPrefix + text.size() + 1) % 64 != 0)
    text += ' ';
  text += '\n';
  std::string head(kMagic, sizeof kMagic);
  head += '\1';
  head += '\0';
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  if (Status s = file.write(head + text); s.failed())
    return s;
  int64_t count = elementCount(array.rank, array.sizes);
  if (array.dtype != MOERT_BF16)
    return file.write(array.data, static_cast<size_t>(count) * dtypeSize(array.dtype));
  constexpr int64_t kPiece = 1024;
  float piece[kPiece];
  for (int64_t done = 0; done < count;) {
    int64_t n = 0;
    for (; n < kPiece && done < count; ++n, ++done)
      piece[n] = fromBf16(static_cast<const uint16_t *>(array.data)[done]);
    if (Status s = file.write(piece, static_cast<size_t>(n) * sizeof(float)); s.failed())
      return s;
  }
  return {};
}

} // namespace moert
