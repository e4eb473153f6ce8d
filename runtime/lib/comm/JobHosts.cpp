//===- JobHosts.cpp - ranks of a job that are on other hosts ------------------------------------------------------===//
//
// Their pages have mirrors here, which they send when there is something to tell. So whatever reads another rank's page
// reads the mirror.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "comm/Job.h"

#include "moert/archive.h"

#include <algorithm>

namespace moert {

/// The numbers of a job's windows, for its link.
enum WindowNumber : uint32_t { kPages, kPieces, kFirstAxis };

Status Job::connectHosts(const Ranks &own) {
  if (Status s = hosts.find(*meeting, own.hostName); s.failed() || !hosts.areMany())
    return s;
  uint64_t secret = checksum(own.token.data(), own.token.size());
  std::unique_ptr<Wire> wire;
  Status made = makeUcxWire(wire);
  if (Status s = link.open(*meeting, hosts, made, std::move(wire), own.interface, secret, patience); s.failed())
    return s;
  std::vector<int> everybody = membersOf(rank(), kEverybody);
  pages.connect(link, kPages, everybody, patience, /*mirrorsAreWritten=*/true);
  pieces.connect(link, kPieces, everybody, patience, /*mirrorsAreWritten=*/true);
  for (size_t a = 0; a < windows.size(); ++a)
    windows[a]->connect(link, kFirstAxis + static_cast<uint32_t>(a), membersOf(rank(), 1u << a), patience);
  return {};
}

void Job::setAbort(uint32_t word) {
  uint32_t none = 0;
  __atomic_compare_exchange_n(&page(rank()).abort, &none, word, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/// What this rank says of itself.
void Job::publishPage() {
  for (int other = 0; other < ranks(); ++other)
    pages.publish(other, pages.bases()[rank()], sizeof(ControlPage));
}

/// What has come from another host is written by the link's thread, maybe now. Of this host's pages the text is behind
/// the goodbye.
ControlPage Job::readPage(int other) const {
  ControlPage copy;
  if (hosts.isFar(other)) {
    link.landing().read(&copy, &page(other), sizeof copy);
    return copy;
  }
  uint32_t goodbye = __atomic_load_n(&page(other).goodbye, __ATOMIC_ACQUIRE);
  copy = page(other);
  copy.goodbye = goodbye;
  return copy;
}

/// Of one rank that begins a run and the news that another one has left before it, at least one finds the other one: a
/// run is counted before goodbyes are looked for, and the goodbye is there before runs are compared.
void Job::heard(int other) {
  const ControlPage &theirs = page(other);
  uint32_t run = __atomic_load_n(&page(rank()).run, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&theirs.goodbye, __ATOMIC_SEQ_CST) == kLeft && run != theirs.run)
    setAbort(static_cast<uint32_t>(other) + 1);
}

void Job::aborted(int, uint32_t word) {
  if (word && word <= static_cast<uint32_t>(ranks()))
    setAbort(word);
}

/// One that has said goodbye may go.
void Job::lost(int other) {
  if (__atomic_load_n(&page(other).goodbye, __ATOMIC_ACQUIRE) == kStays)
    setAbort(static_cast<uint32_t>(other) + 1);
}

/// Whom this rank waits for, if that lasts: others follow it to the rank that holds all up.
void Job::tick() {
  uint32_t waits[ControlPage::kGroups];
  for (size_t i = 0; i < ControlPage::kGroups; ++i)
    waits[i] = __atomic_load_n(&page(rank()).waits[i], __ATOMIC_RELAXED);
  if (std::equal(waits, waits + ControlPage::kGroups, shownWaits))
    return;
  std::copy_n(waits, ControlPage::kGroups, shownWaits);
  publishPage();
}

} // namespace moert
