//===- Tune.cpp - which variant is the fastest for how many tokens ------------------------------------------------===//
//
// All variants are measured: a program has at most as many as axes, 16, and that many trials, of --repeat + 1 calls
// each, Tutel's search may take for a key even where there is nothing to search ((log_1.5 1 + 2) * 4 * 2). They take
// turns, so that what slows the machine down for a while slows all of them. Times are those of the first rank, which
// waits for the others in every call.
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
  /// The fastest variant for as many tokens of a rank.
  struct Result {
    int64_t room;
    std::string variant;
  };

  Status check() const;
  std::vector<std::vector<NamedSize>> sizes() const;
  Status measure(const std::vector<NamedSize> &sizes);
  bool hasVariant(const std::string &name) const;
  Tuning kept(const std::string &path, std::string &text) const;

  moert_session *session;
  const moert_program &program;
  const Options &options;
  int32_t count;
  std::vector<Result> results;
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
  size_t best = fastest(times);
  for (int32_t v = 0; v < count; ++v) {
    std::string row = timeRow(std::to_string(v).c_str(), times[static_cast<size_t>(v)], 1);
    row.insert(row.size() - 1, format("  %s", moert_session_variant_name(session, v)));
    text += row;
  }
  const char *name = moert_session_variant_name(session, static_cast<int32_t>(best));
  int64_t key = Tuning::keyOf(room);
  bool isAgain = std::any_of(results.begin(), results.end(),
                             [&](const Result &other) { return Tuning::keyOf(other.room) == key; });
  results.push_back({room, name});
  text += format("key %lld: %s; %d trials%s\n\n", static_cast<long long>(key), name, count,
                 isAgain ? ", which count instead of those before for this key" : "");
  return print(text);
}

bool Tuner::hasVariant(const std::string &name) const {
  for (int32_t v = 0; v < count; ++v)
    if (name == moert_session_variant_name(session, v))
      return true;
  return false;
}

/// What was measured before stays, if runs can still use it; `text` says what does not.
Tuning Tuner::kept(const std::string &path, std::string &text) const {
  Tuning tuning;
  Status status = tuning.read(path, /*mayBeMissing=*/true);
  if (status.failed())
    text += format("replaces what cannot be used: %s\n", status.message.c_str());
  else if (!tuning.entries.empty() && tuning.program != program.build_id)
    text += format("replaces the choices in '%s', which are of another program\n", path.c_str());
  if (status.failed() || tuning.program != program.build_id)
    tuning = Tuning();
  tuning.program = program.build_id;
  for (Tuning::Entry &entry : tuning.entries) {
    if (entry.name != program.entry)
      continue;
    auto isGone = [&](const Tuning::Choice &choice) { return !hasVariant(choice.variant); };
    for (const Tuning::Choice &choice : entry.choices)
      if (isGone(choice))
        text += format("drops key %lld: there is no variant '%s'\n", static_cast<long long>(choice.key),
                       printable(choice.variant).c_str());
    entry.choices.erase(std::remove_if(entry.choices.begin(), entry.choices.end(), isGone), entry.choices.end());
  }
  return tuning;
}

Status Tuner::run(const std::string &path) {
  if (Status s = check(); s.failed())
    return s;
  if (path.empty())
    return failure(kUserError, "--tune writes its dictionary beside the archive of weights, and there is none");
  for (const std::vector<NamedSize> &one : sizes())
    if (Status s = measure(one); s.failed())
      return s;
  if (options.rank)
    return {};
  std::string text;
  {
    SignalsHeld held;
    OutputFile file;
    if (Status s = file.open(path); s.failed())
      return s;
    // Read as late as that: another --tune may have written in the meantime.
    Tuning tuning = kept(path, text);
    for (const Result &result : results)
      tuning.set(program.entry, result.room, result.variant);
    if (Status s = file.write(tuning.print()); s.failed())
      return s;
    if (Status s = file.commit(); s.failed())
      return s;
  }
  return print(text + format("in '%s'\n", path.c_str()));
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
