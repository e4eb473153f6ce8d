//===- Program.h - what the runtime asks of a program's description -----------------------------------------------===//
#ifndef MOERT_LIB_CORE_PROGRAM_H
#define MOERT_LIB_CORE_PROGRAM_H

#include "core/Archive.h"
#include "core/Status.h"
#include "moert/moert_model.h"

#include <vector>

namespace moert {

/// "f32", "bf16", ...; "?" for an unknown value.
const char *dtypeName(int32_t dtype);

/// "[batch, 16]x f32" as "batch x 16 x f32": the declared type of a value in words.
std::string describe(const moert_program &program, const moert_value &value);

/// Checks a program's description: ABI version, counts, ranks, dtypes, symbols, the indices of the generation info.
Status validateProgram(const moert_program &program);

/// The axes among whose ranks dimension 0 of a value is divided, by bit. Descriptions of a program without axes leave
/// them out.
inline uint32_t axesOf(const moert_program &program, const moert_value &value) {
  return program.axis_count > 0 ? value.axes : 0;
}

/// The axis among whose ranks a dimension of a parameter is divided, or -1.
inline int32_t axisOf(const moert_program &program, const moert_parameter_desc &parameter, int32_t dim) {
  return program.axis_count > 0 ? parameter.axes[dim] : -1;
}

/// The axis whose ranks have slices of what `axisOf` leaves of a parameter, or -1.
inline int32_t sliceAxisOf(const moert_program &program, const moert_parameter_desc &parameter) {
  return program.axis_count > 0 ? parameter.slice_axis : -1;
}

/// How many parts of equal size ranks have of a parameter.
int64_t partsOf(const moert_program &program, const moert_parameter_desc &parameter);

/// Bytes of a parameter, from its beginning in the archive on.
struct ParameterPart {
  uint64_t begin = 0, bytes = 0;
};
/// What a rank of the job has of a parameter. Of slices with gaps: from the first one on, to the end of what they are
/// slices of.
ParameterPart partOf(const moert_program &program, const moert_parameter_desc &parameter, int64_t rank);
/// The same bytes in pieces that neither touch nor overlap, in order.
std::vector<ParameterPart> unite(std::vector<ParameterPart> parts);

/// Resolves a dimension of a declaration; -1 for a symbol that has no value.
inline int64_t resolveSize(int64_t size, const std::vector<int64_t> &symbols) {
  return size >= 0 ? size : symbols[static_cast<size_t>(-(size + 1))];
}

/// Looks up all parameters of the program in the archive and checks that types agree.
Status resolveParameters(const moert_program &program, const Archive &archive, std::vector<const void *> &data);

/// The place of a kernel in the program's table, by which a device knows it.
Status kernelNumber(const moert_program &program, const moert_kernel *kernel, int32_t &number);

} // namespace moert

#endif // MOERT_LIB_CORE_PROGRAM_H
