//===- Weights.cpp - writes the archives of the toy programs ------------------------------------------------------===//
//
//   toy_weights bigram|layer|scale|rows FILE
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "ArchiveWriter.h"

#include <cstdio>
#include <cstring>

/// Letters and blanks are likely, and which one follows depends on the token; 0 ends the text after a 'z'.
static std::vector<float> table() {
  std::vector<float> values(256 * 256);
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b)
      values[a * 256 + b] =
          static_cast<float>((a * 49 + b * 49 + a * a * b) % 251) / 251 - (b >= 'a' && b <= 'z' ? 0 : 4);
  values['z' * 256] = 100;
  return values;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 1;
  ArchiveWriter writer;
  if (std::strcmp(argv[1], "bigram") == 0) {
    std::vector<float> values = table();
    writer.add("table", MOERT_F32, {256, 256}, values.data());
    writer.weightsId = "00112233445566778899aabbccddeeff";
  } else if (std::strcmp(argv[1], "rows") == 0) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      std::vector<float> values;
      for (int i = 0; i < 2 * ranks * 16; ++i)
        values.push_back(static_cast<float>(1 + i % 29));
      writer.add("w" + std::to_string(ranks), MOERT_F32, {2 * ranks, 16}, values.data());
    }
    writer.weightsId = "89abcdef0123456789abcdef01234567";
  } else {
    float w[8] = {1, 2, -1, 0.5, 0.25, 3, -2, 1};
    writer.add("w", MOERT_F32, {8}, w);
    bool layer = std::strcmp(argv[1], "layer") == 0;
    writer.weightsId = layer ? "ffeeddccbbaa99887766554433221100" : "0123456789abcdef0123456789abcdef";
  }
  std::string bytes = writer.finish();
  FILE *file = std::fopen(argv[2], "wb");
  bool fine = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return file && std::fclose(file) == 0 && fine ? 0 : 1;
}
