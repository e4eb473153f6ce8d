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

/// The axis by which a value or a parameter is divided, or -1. Descriptions of a program without axes leave it out.
template <typename Described> int32_t axisOf(const moert_program &program, const Described &described) {
  return program.axis_count > 0 ? described.axis : -1;
}

/// Resolves a dimension of a declaration; -1 for a symbol that has no value.
inline int64_t resolveSize(int64_t size, const std::vector<int64_t> &symbols) {
  return size >= 0 ? size : symbols[static_cast<size_t>(-(size + 1))];
}

/// Looks up all parameters of the program in the archive and checks that types agree.
Status resolveParameters(const moert_program &program, const Archive &archive, std::vector<const void *> &data);

} // namespace moert

#endif // MOERT_LIB_CORE_PROGRAM_H
