//===- NpyTest.cpp - array files ----------------------------------------------------------------------------------===//

#include "Npy.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <unistd.h>

using namespace moert;

namespace {

class NpyTest : public testing::Test {
protected:
  void SetUp() override { path = testing::TempDir() + "array." + std::to_string(getpid()) + ".npy"; }
  void TearDown() override { unlink(path.c_str()); }

  static std::string file(const std::string &dictionary, const std::string &data, char version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += version;
    bytes += '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
      bytes += static_cast<char>(dictionary.size() >> 8 * i & 0xff);
    return bytes + dictionary + data;
  }
  std::string error(const std::string &bytes, int32_t dtype = MOERT_F32) {
    std::ofstream(path, std::ios::binary) << bytes;
    Tensor array;
    Status s = readNpy(path, dtype, array);
    std::string prefix = "cannot read '" + path + "': ";
    EXPECT_TRUE(!s.failed() || s.message.compare(0, prefix.size(), prefix) == 0) << s.message;
    return s.failed() ? s.message.substr(prefix.size()) : "";
  }

  std::string path;
};

const std::string kSeven = std::string("\0\0\xe0\x40", 4);

TEST_F(NpyTest, ReadsWhatNumPyWrites) {
  for (char version : {1, 2, 3})
    EXPECT_EQ(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }   \n", kSeven, version)), "");
  EXPECT_EQ(error(file("{\"shape\":(),\"fortran_order\":True,\"descr\":\"<f4\"}", kSeven)), "");
  EXPECT_EQ(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }\n", "")), "");
}

TEST_F(NpyTest, NamesEveryFault) {
  auto header = [](const std::string &shape, const std::string &descr = "'<f4'", const std::string &order = "False") {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  EXPECT_EQ(error(""), "not an .npy file");
  EXPECT_EQ(error("PK\3\4 and more"), "not an .npy file");
  EXPECT_EQ(error(file(header("(1,)"), kSeven, 4)), "version 4.0 of the format is unknown");
  EXPECT_EQ(error(file(header("(2,)"), kSeven)), "its length does not agree with its header");
  EXPECT_EQ(error(file(header("(1,)"), kSeven + "x")), "its length does not agree with its header");
  EXPECT_EQ(error(file(header("(4611686018427387904, 4)"), "")), "its length does not agree with its header");
  EXPECT_EQ(error(file(header("(99999999999999999999,)"), kSeven)),
            "damaged header: a size in 'shape' is not a number");
  EXPECT_EQ(error(file(header("(-1,)"), kSeven)), "damaged header: a size in 'shape' is not a number");
  EXPECT_EQ(error(file(header("(1,1,1,1,1,1,1,1,1)"), kSeven)), "more than 8 dimensions");
  EXPECT_EQ(error(file(header("1"), kSeven)), "damaged header: 'shape' is not a tuple");
  EXPECT_EQ(error(file(header("(1 1)"), kSeven)), "damaged header: expected ',' or ')' in 'shape'");
  EXPECT_EQ(error(file(header("(1,)", "'|O'"), kSeven)), "pickled objects are not read");
  EXPECT_EQ(error(file(header("(1,)", "'>f4'"), kSeven)), "elements of type '>f4' are not supported");
  EXPECT_EQ(error(file(header("(1,)", "[('a', '<f4')]"), kSeven)), "damaged header: 'descr' is not a simple type");
  EXPECT_EQ(error(file(header("(1,)", "'<i4'"), kSeven)), "its elements are i32, expected f32");
  EXPECT_EQ(error(file(header("(1,)", "'<f4'", "Maybe"), kSeven)),
            "damaged header: 'fortran_order' is not True or False");
  EXPECT_EQ(error(file(header("(1, 1)", "'<f4'", "True"), kSeven)),
            "it is in Fortran order; save numpy.ascontiguousarray(a)");
  EXPECT_EQ(error(file("{'descr': '<f4', 'fortran_order': False}", kSeven)), "damaged header: a key is missing");
  EXPECT_EQ(error(file("{'descr': '<f4', 'descr': '<f4'}", kSeven)), "damaged header: a key appears twice");
  EXPECT_EQ(error(file("{'cmd': 'x'}", kSeven)), "damaged header: an unknown key");
  EXPECT_EQ(error(file("__import__('os')", kSeven)), "damaged header: expected '{'");
  EXPECT_EQ(error(file(header("(1,)") + "{", kSeven)), "damaged header: text behind the dictionary");
  EXPECT_EQ(error(std::string("\x93NUMPY\1\0\xff\xff{}", 12)),
            "damaged header: it is longer than the file, or than 64 KB");
  EXPECT_EQ(error(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14)),
            "damaged header: it is longer than the file, or than 64 KB");
}

TEST_F(NpyTest, EveryTruncationIsAnError) {
  std::string whole = file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", kSeven);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error(whole.substr(0, size)), "") << size;
}

TEST_F(NpyTest, FoldersAndPipesAreErrors) {
  Tensor array;
  EXPECT_NE(readNpy("/", MOERT_F32, array).message.find("it is a folder, not a file"), std::string::npos);
  EXPECT_NE(readNpy("/dev/null", MOERT_F32, array).message.find("it is a device, not a file"), std::string::npos);
  EXPECT_NE(readNpy("/nonexistent", MOERT_F32, array).message.find("No such file"), std::string::npos);
}

TEST_F(NpyTest, Bf16RoundTrip) {
  std::vector<uint16_t> bits;
  for (int i = 0; i < 65536; ++i)
    bits.push_back(static_cast<uint16_t>(i));
  moert_tensor out = {MOERT_BF16, 2, {256, 256}, bits.data()};
  OutputFile written;
  ASSERT_FALSE(written.open(path).failed());
  ASSERT_FALSE(writeNpy(written, out).failed());
  ASSERT_FALSE(written.commit().failed());
  Tensor array;
  ASSERT_EQ(readNpy(path, MOERT_BF16, array).message, "");
  ASSERT_EQ(array.rank, 2);
  ASSERT_EQ(array.sizes[0], 256);
  for (int i = 0; i < 65536; ++i) {
    uint16_t back = static_cast<const uint16_t *>(array.data)[i];
    if (std::isnan(fromBf16(bits[i])))
      EXPECT_TRUE(std::isnan(fromBf16(back)));
    else
      EXPECT_EQ(back, bits[i]);
  }
  // Raw pairs of bytes are taken as they are.
  EXPECT_EQ(error(file("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", kSeven), MOERT_BF16), "");
  EXPECT_EQ(error(file("{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }", kSeven), MOERT_BF16), "");
}

TEST(Numbers, RoundToNearestEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3f80);
  EXPECT_EQ(toBf16(1.00390625f), 0x3f80); // halfway, even below
  EXPECT_EQ(toBf16(1.01171875f), 0x3f82); // halfway, even above
  EXPECT_EQ(toBf16(1.004f), 0x3f81);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(toBf16(-std::numeric_limits<float>::infinity()), 0xff80);
  uint32_t smallNan = 0x7f800001;
  float value;
  std::memcpy(&value, &smallNan, 4);
  EXPECT_TRUE(std::isnan(fromBf16(toBf16(value))));
  EXPECT_EQ(fromF16(0x3c00), 1.0f);
  EXPECT_EQ(fromF16(0xc100), -2.5f);
  EXPECT_EQ(fromF16(0x0001), std::ldexp(1.0f, -24));
  EXPECT_TRUE(std::isinf(fromF16(0x7c00)));
}

} // namespace
