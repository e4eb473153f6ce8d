//===- SessionRanks.cpp - sessions of programs that several ranks run ---------------------------------------------===//

#include "core/OutputFile.h"
#include "core/Session.h"
#include "moert/archive.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace moert;

/// A wait for another rank, unless the session has a deadline.
constexpr int64_t kPatience = int64_t(60) * 1000000000;

static const char *readEnvironment(const char *name) { return std::getenv(name); }

static Status findOwnPlace(const moert_session_options &options, Ranks &ranks) {
  if (!options.ranks)
    return findRanks(readEnvironment, ranks);
  findHost(readEnvironment, ranks);
  ranks.rank = options.rank;
  ranks.ranks = options.ranks;
  ranks.launcher = "the session";
  if (options.rank < 0 || options.rank >= options.ranks)
    return failure(kUserError, "rank %d of %d ranks; ranks count from 0", options.rank, options.ranks);
  if (options.token)
    ranks.token = options.token;
  ranks.isLocal = options.root && std::strcmp(options.root, "local") == 0;
  if (ranks.isLocal)
    return {};
  if (options.ranks > 1 && !options.root)
    return failure(kUserError, "the session does not say where rank 0 is (HOST:PORT, or local)");
  return options.root ? readRoot(options.root, ranks) : Status();
}

Status Session::joinRanks(const moert_session_options &options) {
  if (program->axis_count == 0)
    return options.ranks >= 0 && options.ranks <= 1
               ? Status()
               : failure(kUserError, "the program is for one process, but the session is one of %d ranks",
                         options.ranks);
  Ranks ranks;
  // One that is alone needs nobody, whatever the variables say.
  if (rankCount(*program) > 1 || options.ranks)
    if (Status s = findOwnPlace(options, ranks); s.failed())
      return s;
  if (Status s = checkRankCount(*program, ranks); s.failed())
    return s;
  context.job.reset(new Job);
  for (int32_t a = 0; a < program->axis_count; ++a)
    context.traffic.emplace_back(static_cast<size_t>(program->axes[a].ranks), 0);
  return context.job->join(variants.all(), ranks, options.deadline_ms ? options.deadline_ms * 1000000 : kPatience);
}

/// Whether windows are to be NCCL's.
static Status readProvider(const moert_session_options &options, bool &byNccl) {
  const char *said = options.comm ? options.comm : readEnvironment("MOE_COMM");
  byNccl = said && std::strcmp(said, "nccl") == 0;
  if (said && *said && !byNccl)
    return failure(kUserError, "%s names '%s'; ranks on GPUs know nccl", options.comm ? "the session" : "MOE_COMM",
                   printable(said).c_str());
  return {};
}

Status Session::findDeviceProvider(const moert_session_options &options) {
  bool byNccl = false;
  if (Status s = readProvider(options, byNccl); s.failed())
    return s;
  if (byNccl && context.job->areThreads())
    return failure(kUserError, "ranks that are threads of one process share its GPU's memory: NCCL is for processes");
  if (!byNccl && context.job->ranksHere() != context.job->ranks())
    return failure(kUserError, "ranks on GPUs of several hosts need NCCL (--comm nccl, MOE_COMM=nccl), or run with "
                               "--device cpu, or all on one host");
  if (!byNccl)
    return {};
  std::string version;
  if (Status s = context.device->openNccl(version); s.failed())
    return s;
  nccl = "NCCL " + version;
  return {};
}

Status Session::openDeviceRanks(const moert_session_options &options) {
  context.deviceRanks.reset(new DeviceRanks(*context.device, *context.job,
                                            options.deadline_ms != 0 && !context.deviceValues));
  Status status = context.deviceRanks->open(program->axis_count, !nccl.empty());
  if (!status.failed() && context.deviceValues)
    status = context.deviceRanks->openMirror();
  if (!status.failed())
    return status;
  context.deviceRanks.reset();
  return context.job->fail(status);
}

namespace {
/// What ranks compare before a call: the sizes of their inputs, by symbol, and what they go on with. Few programs have
/// more symbols than what ranks tell in one exchange holds.
struct Sizes {
  static constexpr size_t kNamed = ControlSlot::kBytes / sizeof(int64_t) - 2;
  int64_t named[kNamed] = {};
  uint64_t others = 0;
  int32_t variant;
  int32_t haveStates;

  Sizes(const std::vector<int64_t> &symbols, int32_t variant, bool haveStates)
      : variant(variant), haveStates(haveStates) {
    size_t count = std::min(symbols.size(), kNamed);
    std::copy_n(symbols.begin(), count, named);
    if (count < symbols.size())
      others = checksum(symbols.data() + count, (symbols.size() - count) * sizeof(int64_t));
  }
};
static_assert(sizeof(Sizes) == ControlSlot::kBytes, "one exchange, and all of it is compared");
} // namespace

/// Ranks divide inputs that all of them have: of other sizes, the parts would not fit together. Nor would states, if
/// some ranks went on with theirs and others began anew. All find the same, so they are together afterwards.
Status Session::compareSizes(bool &areTogether) {
  Job &job = *context.job;
  // Of values of a GPU each rank is given its parts, and has states of its own.
  static const std::vector<int64_t> none;
  Sizes mine(context.deviceValues ? none : context.given, variant, context.statesLive && !context.deviceValues);
  Sizes theirs(mine), first(mine);
  areTogether = job.all().tell(&mine, sizeof mine);
  if (!areTogether)
    return job.why();
  std::memcpy(&first, job.all().take(0), sizeof first);
  for (int peer = 1; peer < job.ranks(); ++peer) {
    std::memcpy(&theirs, job.all().take(peer), sizeof theirs);
    for (size_t s = 0; s < Sizes::kNamed; ++s)
      if (theirs.named[s] != first.named[s])
        return failure(kUserError, "rank %d was given inputs with %s = %lld, rank 0 with %s = %lld", peer,
                       program->symbols[s], static_cast<long long>(theirs.named[s]), program->symbols[s],
                       static_cast<long long>(first.named[s]));
    if (theirs.others != first.others)
      return failure(kUserError, "rank %d was given inputs of other sizes than rank 0", peer);
    if (theirs.variant != first.variant)
      return failure(kUserError, "rank %d was to run variant %d, rank 0 variant %d", peer, theirs.variant,
                     first.variant);
    if (theirs.haveStates != first.haveStates)
      return failure(kUserError, "rank %d has states, rank %d was reset: reset all ranks", theirs.haveStates ? peer : 0,
                     theirs.haveStates ? 0 : peer);
  }
  return {};
}

void Session::setVariant(int32_t number) {
  variant = number;
  program = context.program = variants.all()[static_cast<size_t>(number)];
}

/// The variants run with launches left out: they ask for all memory first, and agree on its sizes. A GPU's single one
/// does too: no rank takes or frees memory while a kernel of another one waits for it, on which the driver may wait.
Status Session::reserveForVariants() {
  if (variants.count() == 1 && !context.device)
    return {};
  int64_t isNew = !variants.isReserved(context.symbols);
  if (context.deviceValues) // parts are of different sizes
    if (Status s = context.job->all().agree(isNew, isNew); s.failed())
      return context.job->why();
  if (!isNew)
    return {};
  const int32_t wanted = variant;
  context.job->traceWaits(nullptr); // they are of no call
  Status status;
  for (int32_t number = 0; number < variants.count() && !status.failed(); ++number) {
    setVariant(number);
    reservation = program->variant ? format("the reservation for variant '%s'", printable(program->variant).c_str())
                                   : std::string("the reservation of memory");
    context.job->setPhase(reservation.c_str());
    RankValues::Rehearsal rehearsal(*context.job, *program, context.inputs);
    if (!context.deviceValues)
      status = rehearsal.begin();
    if (!status.failed())
      status = bindSymbols();
    if (!status.failed() && context.device)
      status = context.device->begin();
    if (!status.failed())
      status = context.prepareStates();
    context.rehearses = true;
    if (!status.failed())
      status = context.run();
    context.rehearses = false;
    if (!status.failed() && !context.deviceValues)
      status = context.rankValues.reserve(*context.job, *program, context.outputs);
  }
  int64_t ignored = 0;
  if (!status.failed() && context.device && !context.job->all().tell(&ignored, sizeof ignored))
    status = context.job->why();
  setVariant(wanted);
  context.symbols = context.given;
  // The caller did not ask for that variant. Who waits for a rank says where, and what is heard of one may be later.
  if (status.failed() && !context.job->isDisturbed() && status.message.find(reservation) == std::string::npos)
    status.message = reservation + ": " + status.message;
  if (status.failed())
    return status;
  variants.setReserved(context.given);
  context.job->setPhase("the start of a run");
  if (context.trace)
    context.job->traceWaits(&context.trace->waits);
  return {};
}

// What was wrong with the inputs was found on all of them, by all ranks: none has begun then.
Status Session::runTogether() {
  Job &job = *context.job;
  if (context.deviceValues)
    if (Status s = context.deviceRanks->lookBack(program->entry); s.failed())
      return job.fail(s);
  if (Status s = job.begin(); s.failed())
    return s;
  setVariant(variants.numberFor(context.inputs, job.ranks()));
  bool areTogether = true;
  if (Status s = compareSizes(areTogether); s.failed())
    return areTogether ? s : job.fail(s);
  // The others cannot know of what only this rank was given.
  if (Status s = context.checkStates(); s.failed())
    return context.deviceValues ? job.fail(s) : s;
  context.phase = nullptr;
  context.isRefused = false;
  Status status = reserveForVariants();
  if (!status.failed() && !context.deviceValues)
    status = RankValues::divide(job, *program, context.inputs);
  if (!status.failed())
    status = bindSymbols();
  if (!status.failed())
    status = runChecked();
  if (!status.failed() && !context.deviceValues)
    status = context.rankValues.gather(job, *program, context.outputs);
  if (status.failed() && context.isRefused && !context.deviceValues)
    return status;
  return status.failed() ? job.fail(status) : status;
}

Status Session::writeRankTraces(const char *path) const {
  Job &job = *context.job;
  if (Status s = job.begin(); s.failed())
    return s;
  job.setPhase("the gathering of traces");
  // Clocks differ from host to host: times begin with those of a host's first rank. Rank 0 has the first row.
  std::vector<int64_t> origins(static_cast<size_t>(job.ranks()));
  int64_t origin = context.trace->begin();
  if (job.all().gather(&origin, origins.data(), sizeof origin).failed())
    return job.fail(job.why());
  std::string text;
  auto flush = [](void *to, std::string &piece) {
    *static_cast<std::string *>(to) += piece;
    piece.clear();
    return Status();
  };
  std::string name = format("%s, rank %d", program->name, job.rank());
  (void)context.trace->print(job.rank() + 1, name, origins[static_cast<size_t>(job.firstHere())], flush, &text);
  text += job.rank() + 1 < job.ranks() ? ",\n" : Trace::tail;
  std::vector<uint64_t> sizes(static_cast<size_t>(job.ranks()));
  uint64_t size = text.size(), total = 0;
  if (job.all().gather(&size, sizes.data(), sizeof size).failed())
    return job.fail(job.why());
  for (uint64_t one : sizes)
    total += one;
  std::string all(job.rank() == 0 ? total : 0, ' ');
  if (Status s = job.collect(job.all(), text.data(), sizes, job.rank() == 0 ? &all[0] : nullptr); s.failed())
    return job.fail(s);
  if (job.rank() != 0)
    return {};
  if (Status s = checkTrace(path); s.failed())
    return s;
  OutputFile file;
  if (Status s = file.openStream(path); s.failed())
    return s;
  if (Status s = file.write(Trace::head + all); s.failed())
    return s;
  return file.commit();
}
