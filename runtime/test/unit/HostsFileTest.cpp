//===- HostsFileTest.cpp - which ranks each host starts -----------------------------------------------------------===//

#include "HostsFile.h"

#include <gtest/gtest.h>

using namespace moert;

namespace {

/// "FIRST+COUNT", or the error.
std::string shareOf(const std::string &text, const std::string &name, int ranks) {
  HostShare share;
  Status status = findShare(text, "hosts", name, ranks, share);
  return status.failed() ? status.message : std::to_string(share.first) + "+" + std::to_string(share.count);
}

TEST(HostsFile, RanksFollowTheLines) {
  const std::string text = "# ours\n\nnode1 2\n\tnode2   3 # the large one\r\nnode3 1";
  EXPECT_EQ(shareOf(text, "node1", 6), "0+2");
  EXPECT_EQ(shareOf(text, "node2", 6), "2+3");
  EXPECT_EQ(shareOf(text, "node3", 6), "5+1");
  EXPECT_EQ(shareOf(text, "node", 6), "hosts has no host 'node': name this one with --host-name");
}

TEST(HostsFile, ANodeThatHostsShareIsFound) {
  auto shared = [](const std::string &text, int each) {
    HostShare share;
    EXPECT_FALSE(findShare(text, "hosts", "a", 8, share).failed());
    return findSharedNode(share.firsts, each);
  };
  EXPECT_EQ(shared("a 4\nb 4", 4), -1);
  EXPECT_EQ(shared("a 4\nb 4", 2), -1);
  EXPECT_EQ(shared("a 8", 4), -1);
  EXPECT_EQ(shared("a 4\nb 4", 8), 0);
  EXPECT_EQ(shared("a 6\nb 2", 4), 1);
  EXPECT_EQ(shared("a 4\nb 3\nc 1", 4), 1);
}

TEST(HostsFile, NonsenseHasALine) {
  EXPECT_EQ(shareOf("a 1\nb 1\n", "a", 4), "hosts has hosts for 2 ranks, but --ranks is 4");
  EXPECT_EQ(shareOf("a 3\nb 3\nc 1", "c", 4), "hosts has hosts for at least 6 ranks, but --ranks is 4");
  EXPECT_EQ(shareOf("", "a", 2), "hosts has hosts for 0 ranks, but --ranks is 2");
  for (const char *line : {"a", "a x", "a 0", "a -1", "a 3", "a 1 2", "a 1x", "a 99999999999999999999"})
    EXPECT_EQ(shareOf(std::string("\n") + line, "a", 2),
              "hosts:2: expected the name of a host and how many of the 2 ranks it has")
        << line;
  // Also on the other hosts, which would wait for that one.
  for (const char *name : {"a", "b"})
    EXPECT_EQ(shareOf("b 1\na 1\na 1", name, 3), "hosts:3: host 'a' stands there twice");
}

} // namespace
