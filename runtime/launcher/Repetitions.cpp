//===- Repetitions.cpp - measurements that are made again and again -----------------------------------------------===//

#include "Repetitions.h"

#include "Console.h"
#include "core/OutputFile.h"

namespace moert {

Status repeat(moert_session *session, const Options &options, Measurement &measurement) {
  bool writes = !options.samples.empty() && options.rank == 0;
  std::string json, all, line;
  if (Status s = measurement.measure(/*counts=*/false, json); s.failed())
    return s;
  moert_session_clear_expert_load(session);
  moert_session_clear_traffic(session);
  int64_t done = 0;
  for (; done < options.repeat && (!options.wait || readLine(line)); ++done) {
    if (Status s = measurement.measure(/*counts=*/true, json); s.failed())
      return s;
    if (options.wait)
      if (Status s = print(json); s.failed())
        return s;
    all += json;
  }
  if (!done)
    return failure(kUserError, "the standard input ended before the first repetition");
  if (!writes)
    return {};
  SignalsHeld held(!OutputFile::isStream(options.samples));
  OutputFile samples;
  if (Status s = samples.openStream(options.samples); s.failed())
    return s;
  if (Status s = samples.write(all); s.failed())
    return s;
  return samples.commit();
}

} // namespace moert
