//===- DeviceRanks.cpp - the ranks of a program whose kernels run on a GPU ----------------------------------------===//

#include "core/DeviceRanks.h"

#include "core/Program.h"
#include "moert/archive.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace moert {

static uint64_t lines(uint64_t bytes) { return alignTo(bytes, kArchiveAlignment); }

DeviceRanks::DeviceRanks(Device &device, Job &job, bool namesLaunches)
    : device(device), job(job), namesLaunches(namesLaunches) {
  device.setWatch(this);
}

DeviceRanks::~DeviceRanks() {
  const bool isIdle = !device.begin().failed() && !device.finish().failed();
  device.setWatch(nullptr);
  if (page && isIdle)
    device.unshare(job.ownPage());
  if (mirrored.data() && isIdle)
    device.unshare(mirrored.data());
  else if (mirrored.data())
    (void)new Memory(std::move(mirrored)); // a copy may still come
}

void DeviceRanks::watch(bool isLate) {
  for (const auto &axis : axes)
    axis->windows->watch(isLate);
}

Status DeviceRanks::openMirror() {
  void *ignored = nullptr;
  if (!mirrored.reserve(words.size() * sizeof(Words)))
    return failure(kUserError, "out of memory");
  Status status = device.share(mirrored.data(), mirrored.capacity(), ignored);
  if (status.failed())
    mirrored.release();
  return status;
}

Status DeviceRanks::mirror() { return device.mirror(mirrored.data(), block.base, words.size() * sizeof(Words)); }

Status DeviceRanks::lookBack(const char *entry) {
  const auto *left = static_cast<const Words *>(mirrored.data());
  for (size_t i = 0; i < words.size(); ++i)
    if (uint32_t status = __atomic_load_n(&left[i].status, __ATOMIC_RELAXED))
      __atomic_store_n(&job.axis(static_cast<int32_t>(i)).status, status, __ATOMIC_RELAXED);
  if (!job.isDisturbed())
    return {};
  phase = std::string("a call of ") + entry;
  job.setPhase(phase.c_str());
  return job.why();
}

Status DeviceRanks::open(int32_t axisCount, bool byNccl) {
  words.resize(static_cast<size_t>(axisCount));
  uint64_t bytes = lines(words.size() * sizeof(Words));
  for (int32_t i = 0; i < axisCount; ++i) {
    axes.emplace_back(new Axis);
    const DeviceProvider provider = job.areThreads() ? DeviceProvider::Local : DeviceProvider::Handles;
    axes.back()->windows = byNccl ? device.ncclWindows(job) : std::make_unique<MappedWindows>(device, provider);
    axes.back()->peersAt = bytes;
    bytes += lines(sizeof(moert_peers) + static_cast<uint64_t>(job.axis(i).ranks()) * sizeof(char *));
  }
  if (Status s = device.reserve(block, bytes, "what describes ranks"); s.failed())
    return s;
  if (Status s = device.zero(block.base, bytes); s.failed())
    return s;
  return device.share(job.ownPage(), job.pageBytes(), page);
}

/// Writes the peers of an axis, in whose windows no exchange has been.
Status DeviceRanks::describe(int32_t index) {
  const Axis &axis = *axes[static_cast<size_t>(index)];
  const ControlGroup &group = job.axis(index);
  const size_t wordsAt = static_cast<size_t>(index) * sizeof(Words);
  words[static_cast<size_t>(index)] = {};
  moert_peers peers{};
  peers.base = at<char *const>(axis.peersAt + sizeof peers);
  peers.rank = group.rank();
  peers.ranks = group.ranks();
  peers.epoch = at<uint32_t>(wordsAt + offsetof(Words, epoch));
  peers.status = at<uint32_t>(wordsAt + offsetof(Words, status));
  peers.abort = &static_cast<ControlPage *>(page)->abort;
  peers.patience = job.nanoseconds();
  std::vector<char> text(sizeof peers + static_cast<size_t>(peers.ranks) * sizeof(char *));
  std::memcpy(text.data(), &peers, sizeof peers);
  std::memcpy(text.data() + sizeof peers, axis.windows->bases(), text.size() - sizeof peers);
  if (Status s = device.upload(at<char>(axis.peersAt), text.data(), text.size()); s.failed())
    return s;
  if (Status s = device.upload(at<char>(wordsAt), &words[static_cast<size_t>(index)], sizeof(Words)); s.failed())
    return s;
  return device.finish(); // the text goes
}

Status DeviceRanks::openWindows(int32_t index, uint64_t bytes) {
  DeviceWindows &windows = *axes[static_cast<size_t>(index)]->windows;
  axes[static_cast<size_t>(index)]->deliveries.begin(lines(bytes));
  const bool isOld = words[static_cast<size_t>(index)].epoch >= Job::kLastEpoch; // all ranks have counted alike
  if (bytes <= windows.bytes() && !isOld)
    return {};
  Status status = windows.open(job.axis(index), lines(std::max(bytes, windows.bytes())));
  return status.failed() ? explainWindows(job.axis(index), status) : describe(index);
}

/// All ranks of the axis have failed, and say the same: what the first of them knows that knows why.
Status DeviceRanks::explainWindows(ControlGroup &group, const Status &status) {
  struct Reason {
    int32_t code;
    char text[5 * ControlSlot::kBytes - sizeof(int32_t)];
  } mine{status.code, {}};
  std::memcpy(mine.text, status.message.data(), std::min(status.message.size(), sizeof mine.text - 1));
  std::vector<Reason> all(static_cast<size_t>(group.ranks()));
  if (job.isDisturbed() || gatherLarge(group, &mine, all.data(), sizeof mine).failed())
    return job.explain(status);
  for (int rank = 0; rank < group.ranks(); ++rank)
    if (const Reason &reason = all[static_cast<size_t>(rank)]; *reason.text)
      return failure(reason.code, "rank %d was in \"%s\": %s", group.member(rank), job.presentPhase(), reason.text);
  return job.explain(status);
}

void *DeviceRanks::part(const moert_peers *wanted, int64_t offset) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (peers(static_cast<int32_t>(i)) == wanted && axes[i]->windows->bytes())
      return axes[i]->windows->bases()[job.axis(static_cast<int32_t>(i)).rank()] + offset;
  return nullptr;
}

Status DeviceRanks::beforeLaunch(const moert_program &program, const moert_kernel *kernel, const void *slots) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    const DeviceWindows &windows = *axes[i]->windows;
    if (!windows.areMirrors())
      continue;
    int32_t number = 0;
    if (Status s = kernelNumber(program, kernel, number); s.failed())
      return s;
    const int32_t count = program.cuda->kernels[number].slot_count;
    if (Status s = axes[i]->deliveries.launch(device, kernel, static_cast<const uint64_t *>(slots), count,
                                              peers(index), windows.bases()[job.axis(index).rank()]);
        s.failed())
      return s;
  }
  return {};
}

Status DeviceRanks::delivers(int32_t index, bool signals) {
  Axis &axis = *axes[static_cast<size_t>(index)];
  return signals && axis.windows->areMirrors() ? axis.deliveries.deliver(*axis.windows) : Status();
}

Status DeviceRanks::checkOverlap() const {
  for (const auto &axis : axes)
    if (axis->windows->areMirrors())
      return failure(kUnsupported,
                     "%s: %s: the layer's schedule overlaps, which needs ranks that reach each other's GPUs by stores "
                     "(one node, and NCCL 2.29.2 or newer): compile it with schedule(<plain>)",
                     job.presentPhase(), device.name());
  return {};
}

void DeviceRanks::beginCall() {
  launchCount = offsetCount = 0;
  launches.clear();
  sents.clear();
}

Status DeviceRanks::reserveNotes() {
  if (namesLaunches) {
    launches.reserve(launchCount);
    if (Status s = device.reserve(launchLog, launchCount * words.size() * sizeof(Words), "notes of launches");
        s.failed())
      return s;
  }
  readOffsets.reserve(offsetCount);
  return device.reserve(offsetLog, offsetCount * sizeof(int32_t), "notes of what was sent");
}

Status DeviceRanks::noteLaunch(const char *kernel, const char *launchPhase) {
  const Job::Flags flags = job.presentFlags();
  job.setFlags({}); // the next launch's are told before it
  const uint64_t bytes = words.size() * sizeof(Words), begin = launches.size() * bytes;
  if (!namesLaunches || begin + bytes > launchLog.size) // more than ever: those are told without their names
    return {};
  launches.push_back({kernel, launchPhase, flags});
  return device.copy(static_cast<char *>(launchLog.base) + begin, block.base, bytes);
}

Status DeviceRanks::noteSent(Sent sent, const int32_t *from) {
  const size_t count = from ? offsetsOf(sent.axis) : 0;
  if (count && (offsetCount + count) * sizeof(int32_t) > offsetLog.size)
    return failure(kInternal, "a call sends more often than its rehearsal");
  sent.hasOffsets = from;
  sent.at = offsetCount;
  offsetCount += count;
  sents.push_back(sent);
  return device.copy(static_cast<int32_t *>(offsetLog.base) + sent.at, from, count * sizeof(int32_t));
}

/// The first wait in vain, by the launch behind which it was there.
Status DeviceRanks::explain(const char *entry) {
  phase = std::string("a call of ") + entry;
  job.setPhase(phase.c_str());
  std::vector<Words> log(launches.size() * words.size());
  if (Status s = device.download(log.data(), launchLog.base, log.size() * sizeof(Words)); s.failed())
    return s;
  if (Status s = device.finish(); s.failed())
    return s;
  for (size_t i = 0; i < log.size(); ++i) {
    if (!log[i].status)
      continue;
    const Launch &launch = launches[i / words.size()];
    moert_notes &notes = job.axis(static_cast<int32_t>(i % words.size())).notes;
    notes.lateLaunch = launch.kernel;
    notes.lateFlag = static_cast<int64_t>(log[i].lateFlag) - 1;
    job.setFlags(launch.flags);
    if (launch.phase)
      job.setPhase(launch.phase);
    break;
  }
  return job.why();
}

Status DeviceRanks::look(const char *entry) {
  if (Status s = device.download(words.data(), block.base, words.size() * sizeof(Words)); s.failed())
    return s;
  readOffsets.resize(offsetCount);
  if (Status s = device.download(readOffsets.data(), offsetLog.base, offsetCount * sizeof(int32_t)); s.failed())
    return s;
  if (Status s = device.finish(); s.failed())
    return s;
  // What NCCL says of itself is why waits are in vain.
  for (size_t i = 0; i < axes.size() && !job.isDisturbed(); ++i)
    if (Status s = axes[i]->windows->check(); s.failed())
      return failure(s.code, "rank %d: %s", job.rank(), s.message.c_str());
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].status)
      __atomic_store_n(&job.axis(static_cast<int32_t>(i)).status, words[i].status, __ATOMIC_RELAXED);
  return job.isDisturbed() ? explain(entry) : Status();
}

} // namespace moert
