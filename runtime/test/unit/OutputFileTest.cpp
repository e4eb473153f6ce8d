//===- OutputFileTest.cpp - files that appear only when complete --------------------------------------------------===//

#include "core/OutputFile.h"

#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace moert;

static int umaskCalls = 0;

/// In the place of the C library's.
extern "C" mode_t umask(mode_t mask) noexcept {
  ++umaskCalls;
  return static_cast<mode_t>(syscall(SYS_umask, mask));
}

namespace {

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "output.XXXXXX";
    dir = mkdtemp(&pattern[0]);
  }
  void TearDown() override {
    for (const std::string &name : names())
      unlink((dir + "/" + name).c_str());
    rmdir(dir.c_str());
  }
  std::vector<std::string> names() {
    std::vector<std::string> list;
    DIR *d = opendir(dir.c_str());
    while (dirent *entry = readdir(d))
      if (entry->d_name[0] != '.')
        list.push_back(entry->d_name);
    closedir(d);
    return list;
  }
  std::string content(const std::string &name) {
    std::ostringstream text;
    text << std::ifstream(dir + "/" + name).rdbuf();
    return text.str();
  }

  std::string dir;
};

TEST_F(OutputFileTest, AppearsOnCommitOnly) {
  {
    OutputFile file;
    ASSERT_FALSE(file.open(dir + "/a").failed());
    ASSERT_FALSE(file.write("gone").failed());
  }
  EXPECT_TRUE(names().empty());
  std::ofstream(dir + "/a") << "old";
  {
    OutputFile file;
    ASSERT_FALSE(file.open(dir + "/a").failed());
    std::string large(1 << 20, 'x');
    ASSERT_FALSE(file.write("new").failed());
    ASSERT_FALSE(file.write(large).failed());
    EXPECT_EQ(content("a"), "old");
    ASSERT_FALSE(file.commit().failed());
    EXPECT_EQ(content("a"), "new" + large);
  }
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(OutputFileTest, KeepsLinksAndPermissions) {
  std::ofstream(dir + "/target") << "old";
  ASSERT_EQ(chmod((dir + "/target").c_str(), 0640), 0);
  ASSERT_EQ(symlink("target", (dir + "/link").c_str()), 0);
  OutputFile file;
  ASSERT_FALSE(file.open(dir + "/link").failed());
  ASSERT_FALSE(file.write("new").failed());
  ASSERT_FALSE(file.commit().failed());
  struct stat info;
  ASSERT_EQ(lstat((dir + "/link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_EQ(content("target"), "new");
  ASSERT_EQ(stat((dir + "/target").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

/// Whatever they lead to: a file elsewhere, nothing, a folder, a pipe.
TEST_F(OutputFileTest, ReplacesLinks) {
  std::ofstream(dir + "/target") << "old";
  ASSERT_EQ(chmod((dir + "/target").c_str(), 0400), 0);
  for (const char *target : {"target", "nothing", ".", "/dev/null"}) {
    std::string link = dir + "/link";
    ASSERT_EQ(symlink(target, link.c_str()), 0);
    OutputFile file;
    ASSERT_FALSE(file.open(link, OutputFile::Links::Replace).failed()) << target;
    ASSERT_FALSE(file.write("new").failed());
    ASSERT_FALSE(file.commit().failed());
    struct stat info;
    ASSERT_EQ(lstat(link.c_str(), &info), 0);
    EXPECT_TRUE(S_ISREG(info.st_mode)) << target;
    EXPECT_TRUE(info.st_mode & 0200) << target;
    EXPECT_EQ(content("link"), "new");
    unlink(link.c_str());
  }
  EXPECT_EQ(names(), std::vector<std::string>{"target"});
  EXPECT_EQ(content("target"), "old");
}

TEST_F(OutputFileTest, ReportsErrors) {
  OutputFile folder, missing, full;
  EXPECT_EQ(folder.open(dir).message, "cannot write '" + dir + "': it is a folder, not a file");
  EXPECT_EQ(missing.open(dir + "/none/a").message, "cannot write '" + dir + "/none/a': No such file or directory");
  ASSERT_FALSE(full.openStream("/dev/full").failed());
  ASSERT_FALSE(full.write("x").failed()); // buffered
  EXPECT_EQ(full.commit().message, "cannot write '/dev/full': No space left on device");
}

/// Says what openStream would say, and leaves nothing behind.
TEST_F(OutputFileTest, ChecksWithoutWriting) {
  std::ofstream(dir + "/old") << "old";
  EXPECT_FALSE(OutputFile::checkStream(dir + "/old").failed());
  EXPECT_FALSE(OutputFile::checkStream(dir + "/new").failed());
  EXPECT_FALSE(OutputFile::checkStream("/dev/full").failed());
  EXPECT_EQ(OutputFile::checkStream(dir).message, "cannot write '" + dir + "': it is a folder, not a file");
  EXPECT_EQ(OutputFile::checkStream(dir + "/none/a").message,
            "cannot write '" + dir + "/none/a': No such file or directory");
  EXPECT_EQ(names(), std::vector<std::string>{"old"});
  EXPECT_EQ(content("old"), "old");
}

/// It is the process's: other threads, which make files too, would have the one that is set for a moment.
TEST_F(OutputFileTest, LeavesTheUmaskAlone) {
  const mode_t before = umask(027);
  const int calls = umaskCalls;
  OutputFile file;
  ASSERT_FALSE(file.open(dir + "/a").failed());
  ASSERT_FALSE(file.commit().failed());
  EXPECT_EQ(umaskCalls, calls);
  umask(before);
  struct stat info = {};
  ASSERT_EQ(stat((dir + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(OutputFileTest, NamesMayBeAsLongAsTheSystemAllows) {
  const std::string name(255, 'n');
  OutputFile file, longer;
  ASSERT_FALSE(file.open(dir + "/" + name).failed());
  ASSERT_FALSE(file.commit().failed());
  EXPECT_EQ(names(), std::vector<std::string>{name});
  Status s = longer.open(dir + "/" + name + "n");
  s = s.failed() ? s : longer.commit();
  EXPECT_NE(s.message.find("File name too long"), std::string::npos) << s.message;
}

TEST_F(OutputFileTest, OnlyStreamsGoIntoPipesAndDevices) {
  ASSERT_EQ(mkfifo((dir + "/pipe").c_str(), 0600), 0);
  OutputFile file;
  EXPECT_EQ(file.open(dir + "/pipe").message, "cannot write '" + dir + "/pipe': it is a pipe, not a file");
  EXPECT_EQ(file.open("/dev/null").message, "cannot write '/dev/null': it is a device, not a file");
  EXPECT_FALSE(OutputFile::checkStream(dir + "/pipe").failed());
  EXPECT_EQ(file.openStream(dir + "/pipe").message, "cannot write '" + dir + "/pipe': nobody reads this pipe");
  int reader = ::open((dir + "/pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_FALSE(file.openStream(dir + "/pipe").failed());
  ASSERT_FALSE(file.write("text").failed());
  ASSERT_FALSE(file.commit().failed());
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  close(reader);
}

} // namespace
