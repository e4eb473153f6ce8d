//===- Seeds.cpp - first inputs of the fuzz targets: one file of each kind that is read ---------------------------===//
//
// usage: fuzz_seeds CORPUS FOLDER: writes FOLDER/npy and so on for each kind, and for each the list of its
// files and of those of CORPUS/npy and so on
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "ArchiveWriter.h"
#include "Npy.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

using namespace moert;

static std::string folder;

static void write(const std::string &name, const std::string &bytes) {
  std::string path = folder + "/" + name, list = folder + "/" + name.substr(0, name.find('/')) + ".list";
  std::ofstream(path, std::ios::binary) << bytes;
  std::ofstream(list, std::ios::app) << path << ',';
}

/// In the order of their names, so that every run is the same.
static void listCorpus(const std::string &corpus, const std::string &kind) {
  dirent **names;
  int count = scandir((corpus + "/" + kind).c_str(), &names, nullptr, alphasort);
  std::ofstream list(folder + "/" + kind + ".list", std::ios::app);
  for (int i = 0; i < count; ++i) {
    if (names[i]->d_name[0] != '.')
      list << corpus << "/" << kind << "/" << names[i]->d_name << ',';
    free(names[i]);
  }
  if (count >= 0)
    free(names);
}

/// The file as writeNpy writes it, behind the byte that chooses the type.
static void writeArray(int32_t dtype, int32_t rank) {
  char data[64] = {1, 0, 1};
  moert_tensor array = {dtype, rank, {2, 1, 3, 1, 1, 1, 1, 1}, data};
  std::string path = folder + "/array.npy";
  OutputFile file;
  if (file.open(path).failed() || writeNpy(file, array).failed() || file.commit().failed())
    std::exit(1);
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  std::remove(path.c_str());
  // Without the blanks that fill the header up.
  std::string plain = text.str().substr(10);
  size_t end = plain.find('\n'), last = plain.find_last_not_of(' ', end - 1) + 1;
  plain.erase(last, end - last);
  write("npy/text" + std::to_string(dtype) + "x" + std::to_string(rank),
        std::string(1, static_cast<char>(dtype | 0x80)) + plain);
  write("npy/" + std::to_string(dtype) + "x" + std::to_string(rank),
        std::string(1, static_cast<char>(dtype)) + text.str());
}

/// The archive without the gap between header and data, where changes would be wasted.
static std::string compact(std::string file) {
  constexpr uint64_t gap = kArchiveFirstAlignment - sizeof(ArchiveHeader);
  ArchiveHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  for (uint64_t i = 0; i < header.entry_count; ++i) {
    char *at = &file[header.table_offset + i * sizeof(ArchiveEntry)];
    ArchiveEntry entry;
    std::memcpy(&entry, at, sizeof entry);
    entry.offset -= gap;
    std::memcpy(at, &entry, sizeof entry);
  }
  header.table_offset -= gap;
  std::memcpy(&file[0], &header, sizeof header);
  return file.erase(sizeof header, gap);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 1;
  folder = argv[2];
  mkdir(folder.c_str(), 0777);
  for (const char *kind : {"npy", "archive", "text", "request"}) {
    mkdir((folder + "/" + kind).c_str(), 0777);
    std::remove((folder + "/" + kind + ".list").c_str());
    listCorpus(argv[1], kind);
  }

  for (int32_t dtype = 0; dtype <= MOERT_BOOL; ++dtype)
    for (int32_t rank : {0, 1, MOERT_MAX_RANK})
      writeArray(dtype, rank);

  ArchiveWriter archive;
  std::string values(64, '\7');
  write("archive/none", '\1' + compact(archive.finish()));
  archive.add("b.second", MOERT_F32, {2, 3}, values.data());
  archive.add("a.first", MOERT_BF16, {3}, values.data());
  archive.add("empty", MOERT_I64, {0, 5}, nullptr);
  archive.add("b", MOERT_U8, {}, values.data());
  write("archive/sealed", '\1' + compact(archive.finish()));
  write("archive/forged", '\3' + compact(archive.finish()));
  write("archive/plain", std::string(1, 0) + archive.finish());

  write("text/calls", "# comment\n--input x=@a.npy --output-dir \"o u t\"\nreset\n--expected-output y=@b.npy\n");
  write("text/ids", "1, 2\t3\n-4,99999999999999999999");
  write("text/options",
        "--generate\nOnce\n--max-new-tokens\n7\n--temperature\n0.5\n--top-p\n0.9\n--top-k\n5\n--min-p\n0.1\n--repetition-penalty\n1.1\n--seed\n3\n--stop\n.\n");
  write("text/tuning",
        "{\"program\": \"0\", \"window\": 128, \"entries\": {\"main\": {\"0\": \"ep=4\", \"2\": \"dp=4\"}}}");
  write("text/stops", "ab|b|abca\nxabcabab");
  write("request/lines", "\1run|x|f32|1 2|n|i8|1|12345678a\nreset|\ntext|--ids|1 2 3\nrun|n|i8|0|x|bf16|0 2|\n");
  write("request/raw", std::string("\0\6\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0reset\0abc", 26));
  write("text/utf8", "\xe2\x82\nab\xe2\x82\xac\xe2\x82\xf0\x9f\x98\x80");
  return 0;
}
