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

/// The number of the one of these whose median is the least, as rows show it.
size_t fastest(std::vector<std::vector<int64_t>> times);

/// The process's memory at its peak and the session's own.
std::string memoryLine(const moert_session *session);

/// Which of several variants ran: of these numbers, "variant: ep=2 (prefill), dp=2 (decode)" if they differ; nothing
/// without variants.
std::string variantLine(const moert_session *session, int32_t prefill, int32_t decode);
/// Which one ran last.
std::string variantLine(const moert_session *session);

/// Bytes that this rank has sent to each other one, by axis: those of the last variant, and all that have carried some.
std::string trafficLines(const moert_session *session, const moert_program &program);

/// Rows per expert of all calls: the share of the busiest expert against an even split shows how uneven it is.
std::string loadTable(const moert_session *session);

} // namespace moert

#endif // MOERT_LAUNCHER_MEASUREMENTS_H
