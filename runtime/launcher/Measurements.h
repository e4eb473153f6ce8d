//===- Measurements.h - what benchmarks report --------------------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_MEASUREMENTS_H
#define MOERT_LAUNCHER_MEASUREMENTS_H

#include "moert/session.h"

#include <string>
#include <vector>

namespace moert {

/// The line above rows of times, in milliseconds; `rate` names the last column.
std::string timeHeader(const char *rate);

/// Percentiles of times in nanoseconds, and `count` per second at their median. Nothing if there are no times.
std::string timeRow(const char *what, std::vector<int64_t> times, int64_t count);

/// The process's memory at its peak and the session's own.
std::string memoryLine(const moert_session *session);

/// Which of several variants ran last; nothing without variants.
std::string variantLine(const moert_session *session);

/// Bytes that this rank has sent to each other one, by axis; nothing without axes.
std::string trafficLines(const moert_session *session, const moert_program &program);

/// Rows per expert of all calls: the share of the busiest expert against an even split shows how uneven it is.
std::string loadTable(const moert_session *session);

} // namespace moert

#endif // MOERT_LAUNCHER_MEASUREMENTS_H
