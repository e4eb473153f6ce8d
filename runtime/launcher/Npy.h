//===- Npy.h - NumPy's array files --------------------------------------------------------------------------------===//
//
// Reads format versions 1 to 3, C order, little-endian, plain element types. Files are not trusted: the header is
// parsed strictly and every size is checked against the file's before it is used. bfloat16, which NumPy lacks, is read
// from float32 (rounded to nearest even) or from two raw bytes per element (`V2`, which ml_dtypes writes), and written
// as float32, which is exact.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_NPY_H
#define MOERT_LAUNCHER_NPY_H

#include "core/Inputs.h"
#include "core/OutputFile.h"
#include "moert/session.h"

namespace moert {

/// Type, shape and place of the data, as a header says.
struct NpyHeader {
  std::string descr;
  int32_t rank = 0;
  int64_t sizes[MOERT_MAX_RANK] = {};
  bool fortranOrder = false;
};

/// Parses the dictionary of a header (without magic, version and length).
Status parseNpyHeader(const std::string &text, NpyHeader &header);

/// Reads a file as elements of type `dtype` into `array` (which owns them). Other element types are an error, apart
/// from those for bfloat16 named above.
Status readNpy(const std::string &path, int32_t dtype, Tensor &array);

/// Writes header and data; bfloat16 as float32.
Status writeNpy(OutputFile &file, const moert_tensor &array);

/// Rounds to nearest even; NaN stays NaN.
uint16_t toBf16(float value);
float fromBf16(uint16_t value);
float fromF16(uint16_t value);

/// Integers and truth values.
bool isInteger(int32_t dtype);

/// Element `index` of integer data.
int64_t elementAsInteger(int32_t dtype, const void *data, int64_t index);

/// Element `index` of floating-point or integer data as a double (64-bit integers may be rounded).
double elementAsDouble(int32_t dtype, const void *data, int64_t index);

/// Number of elements.
int64_t elementCount(int32_t rank, const int64_t *sizes);

} // namespace moert

#endif // MOERT_LAUNCHER_NPY_H
