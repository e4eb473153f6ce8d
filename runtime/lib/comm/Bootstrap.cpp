//===- Bootstrap.cpp - the ranks of a job meet and exchange small things ------------------------------------------===//

#include "comm/Bootstrap.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/utsname.h>
#include <utility>

namespace moert {

static constexpr char magic[8] = {'m', 'o', 'e', 'c', 'o', 'm', 'm', '3'};
static constexpr size_t kTextBytes = 200, kMaxStrangers = 256;
/// In here: the status is rank 0's, whole, and not one of the connection to it.
static constexpr int32_t kToldBefore = -1;

/// "x86_64, 64 bits, little-endian". Windows, pages and pieces of rows lie as one kind of machine has them.
static std::string ownMachine() {
  struct utsname about;
  const uint16_t word = 1;
  char first;
  std::memcpy(&first, &word, sizeof first);
  return format("%s, %zu bits, %s-endian", uname(&about) == 0 ? about.machine : "unknown", 8 * sizeof(void *),
                first ? "little" : "big");
}

/// The first thing that a rank says. The bytes of the numbers may stand in another order than here.
struct Bootstrap::Hello {
  char head[8];
  char token[kTokenBytes];
  char machine[56];
  uint64_t program;
  int32_t rank, ranks;
};

Bootstrap::Hello Bootstrap::hello(const Ranks &ranks, uint64_t program) {
  Hello result{};
  std::memcpy(result.head, magic, sizeof magic);
  std::memcpy(result.token, ranks.token.data(), std::min(ranks.token.size(), kTokenBytes));
  copyText(result.machine, sizeof result.machine, ownMachine());
  result.program = program;
  result.rank = ranks.rank;
  result.ranks = ranks.ranks;
  return result;
}

/// Takes the same time wherever two tokens differ.
static bool areEqual(const char *a, const char *b, size_t bytes) {
  unsigned char difference = 0;
  for (size_t i = 0; i < bytes; ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

/// Somebody who has connected and not yet said all of its hello.
struct Bootstrap::Stranger {
  Socket socket;
  Hello said;
  size_t bytes = 0;

  /// Reads what has come so far. Returns whether that settles who it is.
  bool hear() {
    size_t got = socket.receiveSome(reinterpret_cast<char *>(&said) + bytes, sizeof said - bytes);
    bytes += got;
    return got == 0 || bytes == sizeof said;
  }
};

/// Stands before all that ranks exchange: data of so many bytes, or the text of an error.
struct Bootstrap::Frame {
  uint32_t exchange, isError;
  uint64_t bytes;
};

Status Bootstrap::sendFrame(const Socket &to, const void *data, size_t bytes, Deadline deadline) const {
  Frame frame{exchanges, 0, bytes};
  if (Status bad = to.send(&frame, sizeof frame, deadline); bad.failed())
    return bad;
  return to.send(data, bytes, deadline);
}

Status Bootstrap::receiveFrame(const Socket &from, void *data, size_t bytes, Deadline deadline) const {
  Frame frame;
  if (Status bad = from.receive(&frame, sizeof frame, deadline); bad.failed())
    return bad;
  if (frame.isError) {
    char text[kTextBytes + 1] = {};
    if (frame.bytes > kTextBytes)
      return failure(kUserError, "sent nonsense");
    if (Status bad = from.receive(text, frame.bytes, deadline); bad.failed())
      return bad;
    return failure(kToldBefore, "%s", text);
  }
  if (frame.exchange != exchanges || frame.bytes != bytes)
    return failure(kUserError, "is at another place of the program: exchange %u of %llu bytes, not %u of %zu",
                   frame.exchange, static_cast<unsigned long long>(frame.bytes), exchanges, bytes);
  return from.receive(data, bytes, deadline);
}

Status Bootstrap::admit(const Hello &said, const Hello &mine, Socket &socket, int &arrived) {
  std::string here = readText(mine.machine, sizeof mine.machine), there = readText(said.machine, sizeof said.machine);
  if (here != there) {
    auto ends = [](const std::string &text) { return text.substr(std::min(text.rfind(' '), text.size())); };
    const auto swapped = static_cast<int>(__builtin_bswap32(static_cast<uint32_t>(said.rank)));
    const int rank = ends(here) == ends(there) ? said.rank : swapped;
    return failure(kUserError, "rank %d runs on %s, rank 0 on %s: all ranks of a job need one kind of machine", rank,
                   there.c_str(), here.c_str());
  }
  if (said.ranks != mine.ranks)
    return failure(kUserError, "rank %d was started as one of %d ranks, rank 0 as one of %d", said.rank, said.ranks,
                   mine.ranks);
  if (said.rank < 0 || said.rank >= count)
    return failure(kUserError, "a process is rank %d of %d; ranks count from 0", said.rank, count);
  if (said.rank == 0 || sockets[said.rank].isOpen())
    return failure(kUserError, "two processes are rank %d", said.rank);
  if (said.program != mine.program)
    return failure(kUserError, "rank %d runs another program or entry than rank 0", said.rank);
  sockets[said.rank] = std::move(socket);
  ++arrived;
  return {};
}

Status Bootstrap::listenForRanks(const Ranks &ranks, const Hello &mine) {
  Deadline deadline(patience);
  Socket listening;
  int port = ranks.port;
  if (ranks.listening >= 0) {
    if (!isListening(ranks.listening)) // who says so has set the variable by mistake: it stays whose it is
      return failure(kUserError, "MOE_LISTEN is %d, which is no socket that listens", ranks.listening);
    listening = Socket(ranks.listening);
  } else if (Status bad = listenAt(ranks.host, port, listening); bad.failed())
    return bad;
  std::vector<Stranger> strangers;
  for (int arrived = 1; arrived < count;) {
    std::vector<pollfd> ready{{listening.descriptor(), POLLIN, 0}};
    for (const Stranger &stranger : strangers)
      ready.push_back({stranger.socket.descriptor(), POLLIN, 0});
    int left = deadline.milliseconds();
    if (left == 0 || poll(ready.data(), ready.size(), left) == 0)
      return tell(-1, failure(kUserError, "%d of %d ranks did not arrive in time: %s", count - arrived, count,
                              missing().c_str()));
    // From the last on, as those who have said all are removed.
    for (size_t i = strangers.size(); i-- > 0;) {
      if (!ready[i + 1].revents || !strangers[i].hear())
        continue;
      Stranger stranger = std::move(strangers[i]);
      strangers.erase(strangers.begin() + static_cast<ptrdiff_t>(i));
      bool isRank = stranger.bytes == sizeof(Hello) && std::memcmp(stranger.said.head, magic, sizeof magic) == 0 &&
                    areEqual(stranger.said.token, mine.token, kTokenBytes);
      if (!isRank)
        continue;
      Socket &socket = stranger.socket;
      if (Status bad = admit(stranger.said, mine, socket, arrived); bad.failed()) {
        if (socket.isOpen())
          sockets.push_back(std::move(socket)); // is told, too
        return tell(-1, bad);
      }
    }
    if (!ready[0].revents)
      continue;
    Stranger stranger;
    stranger.socket = acceptFrom(listening);
    if (!stranger.socket.isOpen() && errno != EMFILE && errno != ENFILE)
      continue;
    // Of the many who say nothing, the first has waited longest. A process may have less room than for all of them.
    if (!strangers.empty() && (!stranger.socket.isOpen() || strangers.size() == kMaxStrangers))
      strangers.erase(strangers.begin());
    else if (!stranger.socket.isOpen())
      poll(nullptr, 0, 5); // nobody to send away: others of this process hold them
    if (stranger.socket.isOpen())
      strangers.push_back(std::move(stranger));
  }
  return {};
}

std::string Bootstrap::missing() const {
  std::string list;
  for (int rank = 1; rank < count && list.size() < 100; ++rank)
    if (!sockets[rank].isOpen())
      list += (list.empty() ? "rank " : ", ") + std::to_string(rank);
  return list;
}

Status Bootstrap::join(const Ranks &ranks, uint64_t program, int64_t nanoseconds) {
  own = ranks.rank;
  count = ranks.ranks;
  patience = nanoseconds;
  exchanges = 0;
  sockets.clear();
  if (ranks.token.size() > kTokenBytes)
    return failure(kUserError, "the job's token is longer than %zu bytes", kTokenBytes);
  if (count == 1)
    return {};
  Hello mine = hello(ranks, program);
  sockets.resize(own == 0 ? count : 1);
  if (own == 0) {
    if (Status bad = listenForRanks(ranks, mine); bad.failed())
      return bad;
  } else {
    Deadline deadline(patience);
    if (Status bad = connectTo(ranks.host, ranks.port, deadline, sockets[0]); bad.failed())
      return failure(bad.code, "cannot meet rank 0: %s", bad.message.c_str());
    if (Status bad = sockets[0].send(&mine, sizeof mine, deadline); bad.failed())
      return failure(bad.code, "rank 0 %s", bad.message.c_str());
  }
  return barrier();
}

Status Bootstrap::tell(int except, Status reason) {
  size_t bytes = fittingBytes(reason.message, kTextBytes);
  Frame frame{exchanges, 1, bytes};
  // Who does not read must not keep the others waiting: a second for all of them.
  Deadline deadline(1000000000);
  for (size_t rank = 1; rank < sockets.size(); ++rank)
    if (static_cast<int>(rank) != except && sockets[rank].isOpen() &&
        !sockets[rank].send(&frame, sizeof frame, deadline).failed())
      (void)sockets[rank].send(reason.message.data(), bytes, deadline);
  return reason;
}

Status Bootstrap::gather(const void *mine, void *all, size_t bytes) {
  char *to = static_cast<char *>(all);
  if (own >= 0 && own < count) // another one has no place, and hears from rank 0 why it does not belong to the job
    std::memcpy(to + static_cast<size_t>(own) * bytes, mine, bytes);
  if (count == 1)
    return {};
  ++exchanges;
  size_t whole = static_cast<size_t>(count) * bytes;
  // Rank 0 gives up first, so that all hear whom it waited for.
  Deadline deadline(own == 0 ? patience : patience + 500000000);
  if (own != 0) {
    Status bad = sendFrame(sockets[0], mine, bytes, deadline);
    // What rank 0 said before it closed the connection is still to be read.
    Status heard = receiveFrame(sockets[0], to, whole, deadline);
    if (!heard.failed() && !bad.failed())
      return {};
    if (heard.code == kToldBefore)
      return failure(kUserError, "%s", heard.message.c_str());
    return failure(heard.code, "rank 0 %s", heard.message.c_str());
  }
  for (int rank = 1; rank < count; ++rank)
    if (Status bad = receiveFrame(sockets[rank], to + static_cast<size_t>(rank) * bytes, bytes, deadline); bad.failed())
      return tell(rank, failure(kUserError, "rank %d %s", rank, bad.message.c_str()));
  for (int rank = 1; rank < count; ++rank)
    if (Status bad = sendFrame(sockets[rank], to, whole, deadline); bad.failed())
      return tell(rank, failure(kUserError, "rank %d %s", rank, bad.message.c_str()));
  return {};
}

} // namespace moert
