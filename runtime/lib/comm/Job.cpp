//===- Job.cpp - the ranks of a program ---------------------------------------------------------------------------===//

#include "comm/Job.h"

#include "moert/archive.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace moert {

int64_t rankCount(const moert_program &program) {
  int64_t count = 1;
  for (int32_t a = 0; a < program.axis_count; ++a)
    if (program.variant_axes >> a & 1)
      count *= program.axes[a].ranks;
  return count;
}

std::string axesText(const moert_program &program) {
  std::string text;
  for (int32_t a = 0; a < program.axis_count; ++a)
    if (program.variant_axes >> a & 1)
      text += format("%s%s = %d", text.empty() ? "" : ", ", program.axes[a].name, program.axes[a].ranks);
  return text;
}

Status checkRankCount(const moert_program &program, const Ranks &ranks) {
  auto count = static_cast<int>(rankCount(program));
  if (ranks.ranks == count)
    return {};
  std::string axes = axesText(program);
  if (ranks.launcher.empty())
    return failure(kUserError,
                   "the program is for %d ranks (%s), and this is one process: start it with --ranks %d, or by "
                   "torchrun, mpirun or srun",
                   count, axes.c_str(), count);
  return failure(kUserError, "the program is for %d ranks (%s), but %s has %d", count, axes.c_str(),
                 ranks.launcher.c_str(), ranks.ranks);
}

/// The ranks that differ from `rank` on these axes only.
std::vector<int> Job::membersOf(int rank, uint32_t along) const {
  std::vector<int> members;
  if (along == kEverybody) {
    for (int other = 0; other < ranks(); ++other)
      members.push_back(other);
    return members;
  }
  members.push_back(rank);
  for (size_t a = 0; a < axes.size(); ++a) {
    if (!(along >> a & 1))
      continue;
    std::vector<int> more;
    for (int member : members)
      for (int32_t number = 0; number < axes[a].ranks; ++number)
        more.push_back(member + (number - rank / axes[a].stride % axes[a].ranks) * axes[a].stride);
    members = std::move(more);
  }
  return members;
}

bool Job::isEverybody(uint32_t along) const {
  int64_t count = 1;
  for (size_t a = 0; a < axes.size(); ++a)
    count *= along >> a & 1 ? axes[a].ranks : 1;
  return count == ranks();
}

void Job::makeGroup(uint32_t along) {
  std::vector<int> members = membersOf(rank(), along);
  int own = static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
  groups.emplace_back(new ControlGroup(std::move(members), own));
  axesOfGroups.push_back(along);
}

void Job::makeGroups(const std::vector<const moert_program *> &variants, Provider provider) {
  axes.assign(variants[0]->axes, variants[0]->axes + variants[0]->axis_count);
  for (size_t a = 0; a < axes.size(); ++a) {
    makeGroup(1u << a);
    windows.emplace_back(new Windows(provider));
  }
  auto makeFor = [&](const moert_value *values, int32_t count) {
    for (int32_t i = 0; i < count; ++i)
      if (uint32_t along = values[i].axes; along && !isEverybody(along) &&
          std::find(axesOfGroups.begin(), axesOfGroups.end(), along) == axesOfGroups.end())
        makeGroup(along);
  };
  for (const moert_program *program : variants) {
    makeFor(program->inputs, program->input_count);
    makeFor(program->outputs, program->output_count);
  }
  makeGroup(kEverybody);
}

ControlGroup &Job::along(uint32_t bits) {
  auto found = std::find(axesOfGroups.begin(), axesOfGroups.end(), bits);
  return found == axesOfGroups.end() ? all() : *groups[static_cast<size_t>(found - axesOfGroups.begin())];
}

Status Job::join(const std::vector<const moert_program *> &variants, const Ranks &ranks, int64_t nanoseconds) {
  const moert_program &program = *variants[0];
  patience = nanoseconds;
  memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::string identity = std::string(program.build_id) + " " + program.entry + " " + axesText(program);
  uint64_t same = checksum(identity.data(), identity.size());
  if (ranks.isLocal)
    meeting = &local;
  Status met = ranks.isLocal ? local.join(ranks, same, patience) : bootstrap.join(ranks, same, patience);
  if (met.failed())
    return failure(met.code, "rank %d could not meet the others: %s", ranks.rank, met.message.c_str());
  Provider provider = ranks.isLocal ? Provider::Local : Provider::Shm;
  pages.setProvider(provider);
  pieces.setProvider(provider);
  makeGroups(variants, provider);
  if (!ranks.isLocal)
    if (Status s = connectHosts(ranks); s.failed())
      return failure(s.code, "rank %d could not meet the others: %s", ranks.rank, s.message.c_str());
  for (const moert_program *variant : variants)
    for (int32_t i = 0; i < variant->output_count; ++i)
      collects = collects || variant->outputs[i].axes != 0;
  return {};
}

/// A code that came from another rank becomes an exit code, by which a launcher knows that something failed.
static int32_t codeOf(int32_t said) {
  return said == kUserError || said == kUnsupported || said == kMismatch ? said : kInternal;
}

Status Job::shareOutcome(const Status &opened, uint64_t weights, const std::string &library) {
  struct Outcome {
    uint64_t weights;
    int32_t code;
    char text[196], library[32];
  } mine{weights, opened.code, {}, {}};
  copyText(mine.text, sizeof mine.text, opened.message);
  copyText(mine.library, sizeof mine.library, library.empty() ? "no NCCL" : library);
  std::vector<Outcome> all(static_cast<size_t>(ranks()));
  Status shared = meeting->gather(&mine, all.data(), sizeof mine);
  if (opened.failed())
    return opened;
  if (shared.failed())
    return failure(shared.code, "rank %d was opening its session: %s", rank(), shared.message.c_str());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].code)
      return failure(codeOf(all[i].code), "rank %zu failed: %s", i, readText(all[i].text, sizeof mine.text).c_str());
    if (all[i].weights != all[0].weights)
      return failure(kUserError, "rank %zu has other weights than rank 0", i);
    if (std::memcmp(all[i].library, all[0].library, sizeof mine.library) != 0)
      return failure(kUserError, "rank %zu has %s, rank 0 has %s", i,
                     readText(all[i].library, sizeof mine.library).c_str(),
                     readText(all[0].library, sizeof mine.library).c_str());
  }
  return {};
}

Status Job::start(const Status &opened, uint64_t weights, const std::string &library) {
  if (Status s = shareOutcome(opened, weights, library); s.failed())
    return s;
  size_t bytes = sizeof(ControlPage);
  for (const auto &group : groups)
    bytes += group->slotBytes();
  std::vector<const uint32_t *> goodbyes;
  Status s = pages.open(*meeting, bytes);
  if (collects && !s.failed()) // else when somebody wants it
    s = pieces.open(*meeting, 2 * kPiece);
  for (int i = 0; i < ranks() && !s.failed(); ++i)
    goodbyes.push_back(&page(i).goodbye);
  if (!s.failed() && meeting == &bootstrap) // threads of one process end together
    s = watch.start(bootstrap, &page(rank()).abort, std::move(goodbyes), hosts);
  if (s.failed())
    return failure(s.code, "rank %d was opening its session: %s", rank(), s.message.c_str());
  moert_peers waits{};
  waits.abort = &page(rank()).abort;
  waits.patience = patience;
  size_t offset = sizeof(ControlPage);
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto &group = groups[i];
    waits.waits = i < ControlPage::kGroups ? &page(rank()).waits[i] : nullptr;
    group->place(pages, offset, waits);
    offset += group->slotBytes();
  }
  isStarted = true;
  link.listen(this);
  return {};
}

/// Sets the words that end the waits of other ranks: all, or those that have begun a run after the last one of this
/// rank.
void Job::abortOthers(bool onlyLater) {
  for (int i = 0; i < ranks(); ++i) {
    // Ranks of other hosts compare for themselves, when they hear that this one has left.
    if (i == rank() || (onlyLater && (link.isFar(i) || __atomic_load_n(&page(i).run, __ATOMIC_SEQ_CST) == runs)))
      continue;
    if (link.isFar(i)) {
      link.to(i).close({Deed::Abort, static_cast<uint32_t>(rank()) + 1, {}});
      link.wake();
      continue;
    }
    uint32_t none = 0;
    __atomic_compare_exchange_n(&page(i).abort, &none, static_cast<uint32_t>(rank()) + 1, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
  }
}

// Of one rank that begins a run and another one that leaves before it, at least one sees what the other one wrote.
Status Job::begin() {
  if (over.failed())
    return over;
  phase = "the start of a run";
  __atomic_store_n(&page(rank()).run, ++runs, __ATOMIC_SEQ_CST);
  for (int i = 0; i < ranks(); ++i)
    if (__atomic_load_n(&page(i).goodbye, __ATOMIC_SEQ_CST) != kStays)
      setAbort(static_cast<uint32_t>(i) + 1);
  return isDisturbed() ? fail(why()) : Status();
}

void Job::leave() {
  if (isStarted && page(rank()).goodbye == kStays) {
    __atomic_store_n(&page(rank()).goodbye, kLeft, __ATOMIC_SEQ_CST);
    publishPage();
    abortOthers(/*onlyLater=*/true);
  }
  isStarted = false;
  watch.stop();
  link.close();
}

Status Job::fail(Status status) {
  if (over.failed() || !isStarted)
    return status;
  over = status;
  ControlPage &own = page(rank());
  bool isTold = __atomic_load_n(&own.abort, __ATOMIC_ACQUIRE) != 0;
  own.code = status.code;
  own.isWhole = isTold || isDisturbed();
  copyText(own.text, sizeof own.text, status.message);
  __atomic_store_n(&own.goodbye, kFailed, __ATOMIC_SEQ_CST);
  publishPage();
  if (!isTold)
    abortOthers(/*onlyLater=*/false);
  return status;
}

void Job::traceWaits(WaitLog *log) {
  for (const auto &group : groups)
    group->notes.log = log;
}

/// ": chunk 3 of its rows", ": chunk 0 of slice 2 of its sums"; nothing of flags of which no program has told.
static std::string meaningOf(const Job::Flags &flags, int64_t flag) {
  if (flags.each <= 0)
    return "";
  const int64_t inSource = flag / flags.stride % flags.each;
  if (flags.slices < 1)
    return format(": chunk %lld of its rows", static_cast<long long>(inSource));
  const int64_t chunks = flags.each / flags.slices;
  if (chunks < 1)
    return "";
  return format(": chunk %lld of slice %lld of its sums", static_cast<long long>(inSource % chunks),
                static_cast<long long>(inSource / chunks));
}

/// " (await_sums, flag 7: chunk 1 of slice 2 of its sums)", or " (experts_up, phase 1, flag 3: ...)" in a group, of
/// which a GPU tells no phase; of flags that have no number nothing, or on a GPU the kernel.
static std::string placeOf(const moert_notes &notes, const char *kernel, const Job::Flags &flags) {
  if (notes.lateFlag < 0 && notes.lateLaunch)
    return format(" (%s)", notes.lateLaunch);
  if (notes.lateLaunch)
    kernel = notes.lateLaunch;
  if (notes.lateFlag < 0 || (!notes.late.kernel && !kernel))
    return "";
  std::string phase = notes.late.kernel ? format(", phase %lld", static_cast<long long>(notes.late.phase)) : "";
  return format(" (%s%s, flag %lld%s)", notes.late.kernel ? notes.late.kernel : kernel, phase.c_str(),
                static_cast<long long>(notes.lateFlag), meaningOf(flags, notes.lateFlag).c_str());
}

/// The rank that another one waits for, as it says; -1: none.
int Job::waitedFor(int other) const {
  for (size_t i = 0; i < groups.size() && i < ControlPage::kGroups; ++i) {
    uint32_t peer = __atomic_load_n(&page(other).waits[i], __ATOMIC_RELAXED);
    if (peer == 0 || static_cast<int>(peer) > groups[i]->ranks())
      continue;
    return membersOf(other, axesOfGroups[i])[peer - 1];
  }
  return -1;
}

/// Follows ranks that wait themselves, to one that does not. None is blamed where they wait in a circle: one of them may
/// have been stopped in its wait, and it cannot be known which.
int Job::endOfWaits(int waited) const {
  std::vector<char> isKnown(static_cast<size_t>(ranks()));
  isKnown[static_cast<size_t>(rank())] = 1;
  int end = waited;
  for (int next = waited; next >= 0; next = waitedFor(end)) {
    if (isKnown[static_cast<size_t>(next)])
      return waited;
    isKnown[static_cast<size_t>(next)] = 1;
    end = next;
  }
  return end;
}

Status Job::why(const char *kernel) const {
  int waited = -1; // for this rank
  std::string place;
  for (const auto &group : groups)
    if (uint32_t status = __atomic_load_n(&group->status, __ATOMIC_RELAXED); status && waited < 0) {
      waited = group->member(static_cast<int>(status) - 1);
      place = placeOf(group->notes, kernel, flags);
    }
  uint32_t abort = __atomic_load_n(&page(rank()).abort, __ATOMIC_ACQUIRE);
  if (!abort) {
    int end = endOfWaits(waited);
    std::string held = end == waited ? "" : format(", which is held up by rank %d", end);
    return failure(kUserError, "rank %d waited %g s for rank %d in \"%s\"%s%s", rank(),
                   static_cast<double>(patience) / 1e9, waited, phase, place.c_str(), held.c_str());
  }
  // What stands in pages may have come from another host.
  if (abort > static_cast<uint32_t>(ranks()))
    return failure(kInternal, "rank %d was told of a rank that is not there in \"%s\"", rank(), phase);
  int lost = static_cast<int>(abort) - 1;
  const ControlPage other = readPage(lost);
  std::string said = readText(other.text, sizeof other.text);
  if (other.goodbye == kFailed)
    return failure(codeOf(other.code), "%s%s", other.isWhole ? "" : format("rank %d failed: ", lost).c_str(),
                   said.c_str());
  std::string ended = other.goodbye == kLeft ? "left the job" : hosts.isFar(lost) ? link.whyLost(lost) : "ended";
  if (waited < 0)
    return failure(kUserError, "rank %d %s while rank %d was in \"%s\"", lost, ended.c_str(), rank(), phase);
  std::string whom = waited == lost ? "it" : format("rank %d", waited);
  return failure(kUserError, "rank %d %s while rank %d waited for %s in \"%s\"%s", lost, ended.c_str(), rank(),
                 whom.c_str(), phase, place.c_str());
}

} // namespace moert
