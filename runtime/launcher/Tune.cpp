//===- Tune.cpp - which variant is the fastest for how many tokens ------------------------------------------------===//
//
// All variants are measured: a program has at most as many as axes, 16, and that many trials Tutel's search may take
// for a key even where there is nothing to search ((log_1.5 1 + 2) * 4 * 2). They take turns, so that what slows the
// machine down for a while slows all of them. Times are those of the first rank, which waits for the
// others in every call.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Console.h"
#include "Measurements.h"
#include "Modes.h"
#include "RandomCall.h"
#include "comm/Job.h"
#include "core/OutputFile.h"
#include "core/Variants.h"

#include <algorithm>

namespace moert {

namespace {
class Tuner {
public:
  Tuner(moert_session *session, const moert_program &program, const Options &options)
      : session(session), program(program), options(options), count(moert_session_variants(session)) {}

  Status run(const std::string &path);

private:
  Status check() const;
  std::vector<std::vector<NamedSize>> sizes() const;
  Status measure(const std::vector<NamedSize> &sizes);

  moert_session *session;
  const moert_program &program;
  const Options &options;
  int32_t count;
  Tuning tuning;
};
} // namespace

Status Tuner::check() const {
  if (count < 2)
    return failure(kUserError, "--tune measures variants, and the model is compiled without them (moe-compile "
                               "--variant)");
  if (!options.variant.empty())
    return failure(kUserError, "--tune measures all variants: leave --variant out");
  if (options.wait || !options.samples.empty() || options.promptTokens >= 0 || options.decodeTokens >= 0 ||
      options.batch >= 0)
    return failure(kUserError, "--tune measures calls of the sizes that --size names, and has no --wait, --samples, "
                               "--batch, --prompt-tokens and --decode-tokens");
  return {};
}

/// A size that is given several times has each of its values in turn.
std::vector<std::vector<NamedSize>> Tuner::sizes() const {
  std::vector<std::vector<NamedSize>> all(1);
  for (const NamedSize &size : options.sizes) {
    auto isSame = [&](const NamedSize &other) { return other.name == size.name; };
    if (std::none_of(all[0].begin(), all[0].end(), isSame)) {
      for (std::vector<NamedSize> &one : all)
        one.push_back(size);
      continue;
    }
    std::vector<NamedSize> next = all[0];
    std::find_if(next.begin(), next.end(), isSame)->value = size.value;
    all.push_back(std::move(next));
  }
  return all;
}

Status Tuner::measure(const std::vector<NamedSize> &sizes) {
  RandomCall call(session, program, options.sampling.seed);
  if (Status s = call.make("--tune", sizes); s.failed())
    return s;
  std::vector<std::vector<int64_t>> times(static_cast<size_t>(count));
  for (int64_t repetition = 0; repetition <= options.repeat; ++repetition)
    for (int32_t v = 0; v < count; ++v) {
      if (Status s = sessionStatus(session, moert_session_set_variant(session, v)); s.failed())
        return s;
      int64_t time = 0;
      if (Status s = call.run(time); s.failed())
        return s;
      if (repetition) // the first one warms up
        times[static_cast<size_t>(v)].push_back(time);
    }
  int64_t ranks = rankCount(program), room = roomOf(program, call.tensors(), ranks);
  std::string text = format("%s, ", program.entry);
  for (const NamedSize &size : sizes)
    text += format("%s %lld, ", size.name.c_str(), static_cast<long long>(size.value));
  text += format("at most %lld tokens of a rank, %lld calls of each variant, %d threads\n%s",
                 static_cast<long long>(room), static_cast<long long>(options.repeat), moert_session_threads(session),
                 timeHeader("calls/s").c_str());
  int32_t best = 0;
  int64_t least = INT64_MAX;
  for (int32_t v = 0; v < count; ++v) {
    std::vector<int64_t> &own = times[static_cast<size_t>(v)];
    std::string row = timeRow(std::to_string(v).c_str(), own, 1);
    row.insert(row.size() - 1, format("  %s", moert_session_variant_name(session, v)));
    text += row;
    std::sort(own.begin(), own.end());
    if (own[own.size() / 2] < least) {
      least = own[own.size() / 2];
      best = v;
    }
  }
  tuning.set(program.entry, room, moert_session_variant_name(session, best));
  text += format("key %lld: %s; %d trials\n\n", static_cast<long long>(Tuning::keyOf(room)),
                 moert_session_variant_name(session, best), count);
  return print(text);
}

Status Tuner::run(const std::string &path) {
  if (Status s = check(); s.failed())
    return s;
  if (path.empty())
    return failure(kUserError, "--tune writes its dictionary beside the archive of weights, and there is none");
  // What was measured before stays, unless it is of another program.
  if (tuning.read(path, /*mayBeMissing=*/true).failed() || tuning.program != program.build_id)
    tuning = Tuning();
  tuning.program = program.build_id;
  for (const std::vector<NamedSize> &one : sizes())
    if (Status s = measure(one); s.failed())
      return s;
  if (options.rank)
    return {};
  {
    SignalsHeld held;
    OutputFile file;
    if (Status s = file.open(path); s.failed())
      return s;
    if (Status s = file.write(tuning.print()); s.failed())
      return s;
    if (Status s = file.commit(); s.failed())
      return s;
  }
  return print(format("in '%s'\n", path.c_str()));
}

Status tune(moert_session *session, const moert_program &program, const Options &options, const std::string &path) {
  return Tuner(session, program, options).run(path);
}

Status setVariant(moert_session *session, const std::string &name) {
  std::string names;
  for (int32_t v = 0; v < moert_session_variants(session); ++v) {
    const char *own = moert_session_variant_name(session, v);
    if (own && (name == own || name == std::to_string(v)))
      return sessionStatus(session, moert_session_set_variant(session, v));
    names += format("%s'%s' (%d)", v ? ", " : "", own ? printable(own).c_str() : "", v);
  }
  if (moert_session_variants(session) == 1)
    return failure(kUserError, "there is no variant '%s': the model is compiled without variants", name.c_str());
  return failure(kUserError, "there is no variant '%s'; there are %s", name.c_str(), names.c_str());
}

} // namespace moert
