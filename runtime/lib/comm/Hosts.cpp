//===- Hosts.cpp - which ranks share a host -----------------------------------------------------------------------===//

#include "comm/Hosts.h"

#include "moert/archive.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moert {

/// Differs from boot to boot of a machine, and between machines; empty where there is no /proc.
static std::string bootId() {
  char text[64] = {};
  int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0)
    ::close(file);
  return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
}

/// Of which processes have other numbers for each other.
static unsigned long long processNamespace() {
  struct stat about;
  return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

Status Hosts::find(Group &ranks, const std::string &name) {
  std::string identity = format("%s %llu %s", bootId().c_str(), processNamespace(), name.c_str());
  own = checksum(identity.data(), identity.size());
  hosts.resize(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&own, hosts.data(), sizeof own); bad.failed())
    return bad;
  many = std::any_of(hosts.begin(), hosts.end(), [this](uint64_t host) { return host != own; });
  return {};
}

int Hosts::first() const { return static_cast<int>(std::find(hosts.begin(), hosts.end(), own) - hosts.begin()); }

int Hosts::count() const { return before(static_cast<int>(hosts.size())); }

int Hosts::before(int rank) const { return static_cast<int>(std::count(hosts.begin(), hosts.begin() + rank, own)); }

} // namespace moert
