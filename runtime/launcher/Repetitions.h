//===- Repetitions.h - measurements that are made again and again ---------------------------------------*- C++ -*-===//
#ifndef MOERT_LAUNCHER_REPETITIONS_H
#define MOERT_LAUNCHER_REPETITIONS_H

#include "Options.h"
#include "moert/session.h"

namespace moert {

/// What is measured again and again.
class Measurement {
public:
  virtual ~Measurement() = default;
  /// Measures once, and says what as a line of JSON. `counts` is false for the first time, which warms up.
  virtual Status measure(bool counts, std::string &json) = 0;
};

/// Measures as often as --repeat says, after one that does not count: with --wait at the pace of the standard input,
/// each line of JSON on the standard output at once. They are written into the file of --samples at the end.
Status repeat(moert_session *session, const Options &options, Measurement &measurement);

} // namespace moert

#endif // MOERT_LAUNCHER_REPETITIONS_H
