// How fast bytes reach another process by the runtime's windows: WINDOWS ROUNDS SECONDS SIZE... as two ranks, whose
// places are in the environment (comm/Ranks.h). Rank 0 prints a JSON object per line.
//
// A copy is what kernel.put becomes: a memcpy per row, here of 4 KiB; kernel.signal and kernel.await follow. Its time
// runs from before the first row, by the clock of the sender, until the receiver has seen the flag, by his: both read
// the same clock. Beside it, in turns, stands memcpy of the same rows into memory of the sender's own.
//
// The receiver of mode "put" leaves the bytes alone. That of "put, read" reads them before the next copy, as layers do,
// so that the copy has to take their cache lines away from the other core.

#include "comm/Bootstrap.h"
#include "comm/Peers.h"
#include "comm/Windows.h"
#include "core/Clock.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace moert;

namespace {

constexpr size_t kRow = 4096, kLine = 64;
constexpr int kPingPongs = 20000;

/// What each window begins with; the rows follow.
struct alignas(kLine) Head {
  alignas(kLine) uint32_t came;
  alignas(kLine) uint32_t taken;
  alignas(kLine) int64_t begin;
  alignas(kLine) int64_t took;
  alignas(kLine) int64_t value;
};
constexpr size_t kRows = 4096;
static_assert(sizeof(Head) <= kRows, "the rows begin on a page");

const char *readVariable(const char *name) { return std::getenv(name); }

void copyRows(char *to, const char *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kRow)
    std::memcpy(to + at, from + at, std::min(kRow, bytes - at));
  asm volatile("" ::: "memory"); // the copy is made although nobody reads it
}

uint64_t readLines(const char *from, size_t bytes) {
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes; at += kLine)
    sum += static_cast<unsigned char>(from[at]);
  asm volatile("" : : "r"(sum));
  return sum;
}

class Bench {
public:
  Bench(const moert_peers &peers, size_t largest)
      : peers(peers), own(head(peers.rank)), other(head(1 - peers.rank)), source(largest, 'x'), local(largest, 'y') {}

  bool copies(int round, size_t bytes, double seconds) {
    static const char *const modes[] = {"memcpy", "put", "put, read"};
    for (int turn = 0; turn < 3; ++turn) {
      int mode = round % 2 ? 2 - turn : turn;
      if (mode == 0 ? !memcpyTurn(bytes, seconds) : !putTurn(bytes, seconds, mode == 2))
        return false;
      print(modes[mode], round, bytes);
    }
    return true;
  }

  /// 8 bytes and a flag there, and the same back: half of each round trip is recorded.
  bool pingPong(int round) {
    times.clear();
    for (int i = 0; i < kPingPongs; ++i) {
      ++epoch;
      int64_t begin = now();
      if (peers.rank == 0)
        send(i);
      if (!moert_await(&peers, &own.came, epoch, 1 - peers.rank, -1))
        return false;
      if (peers.rank == 1)
        send(i);
      times.push_back((now() - begin) / 2);
    }
    print("ping-pong", round, sizeof(int64_t));
    return true;
  }

private:
  Head &head(int rank) { return *reinterpret_cast<Head *>(peers.base[rank]); }

  void send(int64_t value) {
    std::memcpy(&other.value, &value, sizeof value);
    signal(&other.came, epoch);
  }

  /// One more of rank 0's calls of a turn? Rank 1 is told.
  bool goesOn(int64_t end) { return times.size() < 3 || now() < end; }

  bool memcpyTurn(size_t bytes, double seconds) {
    times.clear();
    if (peers.rank == 0) {
      copyRows(local.data(), source.data(), bytes);
      for (int64_t end = now() + static_cast<int64_t>(seconds * 1e9); goesOn(end);) {
        int64_t begin = now();
        copyRows(local.data(), source.data(), bytes);
        times.push_back(now() - begin);
      }
    }
    return true; // rank 1 waits for what comes next
  }

  /// A turn ends with a copy whose beginning is 0.
  bool putTurn(size_t bytes, double seconds, bool isRead) {
    times.clear();
    int64_t end = now() + static_cast<int64_t>(seconds * 1e9);
    for (bool isLast = false, isFirst = true; !isLast; isFirst = false) {
      ++epoch;
      if (peers.rank == 0) {
        isLast = !goesOn(end);
        int64_t begin = now();
        __atomic_store_n(&other.begin, isLast ? 0 : begin, __ATOMIC_RELAXED);
        copyRows(peers.base[1] + kRows, source.data(), bytes);
        signal(&other.came, epoch);
        if (!moert_await(&peers, &own.taken, epoch, 1, -1))
          return false;
        if (!isLast && !isFirst)
          times.push_back(own.took);
      } else {
        if (!moert_await(&peers, &own.came, epoch, 0, -1))
          return false;
        int64_t seen = now(); // before another line of the sender's is fetched
        other.took = seen - own.begin;
        isLast = own.begin == 0;
        if (isRead)
          readLines(peers.base[1] + kRows, bytes);
        signal(&other.taken, epoch);
      }
    }
    return true;
  }

  void print(const char *mode, int round, size_t bytes) {
    if (peers.rank != 0)
      return;
    std::sort(times.begin(), times.end());
    auto at = [&](double share) {
      return static_cast<long long>(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]);
    };
    std::printf("{\"mode\": \"%s\", \"round\": %d, \"bytes\": %zu, \"calls\": %zu, \"least_ns\": %lld, "
                "\"median_ns\": %lld, \"p90_ns\": %lld, \"most_ns\": %lld}\n",
                mode, round, bytes, times.size(), at(0), at(0.5), at(0.9), at(1));
    std::fflush(stdout);
  }

  const moert_peers &peers;
  Head &own, &other;
  std::vector<char> source, local;
  std::vector<int64_t> times;
  uint32_t epoch = 0;
};

int fail(const std::string &text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  Ranks ranks;
  if (Status bad = findRanks(readVariable, ranks); bad.failed())
    return fail(bad.message);
  if (argc < 4 || ranks.ranks != 2)
    return fail("two ranks are expected, and: ROUNDS SECONDS SIZE...");
  int rounds = std::atoi(argv[1]);
  double seconds = std::atof(argv[2]);
  std::vector<size_t> sizes;
  for (int i = 3; i < argc; ++i)
    sizes.push_back(static_cast<size_t>(std::atoll(argv[i])));
  size_t largest = *std::max_element(sizes.begin(), sizes.end());
  constexpr int64_t patience = int64_t(60) * 1000000000;
  Bootstrap group;
  Windows windows;
  if (Status bad = group.join(ranks, 1, patience); bad.failed())
    return fail(bad.message);
  if (Status bad = windows.open(group, kRows + largest); bad.failed())
    return fail(bad.message);
  uint32_t epoch = 0, abort = 0, status = 0;
  moert_peers peers{windows.bases(), ranks.rank, ranks.ranks, &epoch, &abort, &status, patience};
  Bench bench(peers, largest);
  for (int round = 0; round < rounds; ++round) {
    if (!bench.pingPong(round))
      return fail("the other rank does not answer");
    for (size_t bytes : sizes)
      if (!bench.copies(round, bytes, seconds))
        return fail("the other rank does not answer");
  }
  return group.barrier().failed() ? fail("the other rank has ended") : 0;
}
