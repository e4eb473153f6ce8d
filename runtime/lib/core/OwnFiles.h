//===- OwnFiles.h - the files that a running program consists of --------------------------------------------------===//
#ifndef MOERT_LIB_CORE_OWNFILES_H
#define MOERT_LIB_CORE_OWNFILES_H

#include "moert/moert_model.h"

#include <string>

namespace moert {

/// The executable of this process; empty if that cannot be known.
std::string ownExecutable();

/// The executable or shared object that holds the program; empty if that cannot be known.
std::string fileOf(const moert_program &program);

/// Path of the archive that belongs to the program: beside the file that holds it. Empty if there is none.
std::string recordedWeights(const moert_program &program);

} // namespace moert

#endif // MOERT_LIB_CORE_OWNFILES_H
