//===- SafetensorsTest.cpp - reading .safetensors files -----------------------------------------------------------===//

#include "moe-mlir/Weights/SafetensorsSource.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace moe_mlir;

namespace {
class SafetensorsTest : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(sys::fs::createTemporaryFile("weights", "safetensors", path)); }
  void TearDown() override { sys::fs::remove(path); }

  void write(StringRef text) {
    std::error_code error;
    raw_fd_ostream(path, error) << text;
  }
  Expected<std::unique_ptr<WeightSource>> open(StringRef header, StringRef data, int64_t claimed = -1) {
    char size[8];
    support::endian::write64le(size, claimed < 0 ? header.size() : claimed);
    write((StringRef(size, 8) + header + data).str());
    return openWeights(path);
  }
  /// The error without the file's name.
  std::string errorOf(StringRef header, StringRef data, int64_t claimed = -1) {
    Expected<std::unique_ptr<WeightSource>> source = open(header, data, claimed);
    if (source)
      return "";
    std::string text = toString(source.takeError()), start = ("'" + path + "' ").str();
    EXPECT_EQ(text.find(start), 0u) << text;
    return text.substr(start.size());
  }

  SmallString<128> path;
};
} // namespace

TEST_F(SafetensorsTest, Tensors) {
  auto source = open(R"({"__metadata__": {"format": "pt"},
    "a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
    "b": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    "none": {"dtype": "I64", "shape": [0, 5], "data_offsets": [16, 16]}})",
                     "0123456789abcdef");
  ASSERT_TRUE(bool(source)) << toString(source.takeError());
  Expected<Blob> a = (*source)->find("a"), b = (*source)->find("b"), none = (*source)->find("none");
  ASSERT_TRUE(a && b && none);
  EXPECT_EQ(a->dtype, MOERT_BF16);
  EXPECT_EQ(ArrayRef<int64_t>(a->sizes), ArrayRef<int64_t>({2, 3}));
  EXPECT_EQ(StringRef(a->data.data(), a->data.size()), "456789abcdef");
  EXPECT_EQ(b->dtype, MOERT_F32);
  EXPECT_TRUE(b->sizes.empty());
  EXPECT_EQ(StringRef(b->data.data(), b->data.size()), "0123");
  EXPECT_TRUE(none->data.empty());
  EXPECT_EQ(toString((*source)->find("c").takeError()), ("'" + path + "' has no weight named 'c'").str());
  EXPECT_EQ(toString((*source)->find("__metadata__").takeError()),
            ("'" + path + "' has no weight named '__metadata__'").str());
}

TEST_F(SafetensorsTest, ContentIdTellsContents) {
  auto idOf = [&](StringRef data) {
    auto source = open(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})", data);
    return source ? (*source)->contentId() : toString(source.takeError());
  };
  std::string id = idOf("abcd");
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(idOf("abcd"), id);
  EXPECT_NE(idOf("abce"), id);
}

TEST_F(SafetensorsTest, UnknownTypesMatterWhenTheyAreUsed) {
  auto source = open(R"({"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}})", "abcd");
  ASSERT_TRUE(bool(source));
  EXPECT_EQ(toString((*source)->find("a").takeError()),
            "weight 'a' has elements of type F8_E4M3, which is not supported");
}

TEST_F(SafetensorsTest, HeadersThatAreNone) {
  write("1234");
  EXPECT_EQ(toString(openWeights(path).takeError()),
            ("'" + path + "' is no safetensors file: it is shorter than 8 bytes").str());
  EXPECT_EQ(errorOf("{}", "", 3), "is no safetensors file, or is cut off: its header would have 3 bytes");
  EXPECT_EQ(errorOf("{}", "", int64_t(1) << 40),
            "is no safetensors file, or is cut off: its header would have 1099511627776 bytes");
  for (StringRef header : {"", "[]", "1", " {}"})
    EXPECT_EQ(errorOf(header, ""), "is no safetensors file: its header is no object");
  EXPECT_EQ(errorOf(R"({"a": 1, "a": 2})", ""),
            "is no safetensors file: its header: the key 'a' occurs twice in one object at byte 12");
  EXPECT_EQ(errorOf("{\"a\":" + std::string(300, '['), ""),
            "is no safetensors file: its header: more than 200 nested levels at byte 204");
}

TEST_F(SafetensorsTest, TensorsThatDoNotFit) {
  auto tensor = [&](StringRef fields) {
    std::string text = errorOf(("{\"a\": {" + fields + "}}").str(), "0123456789abcdef");
    EXPECT_EQ(text.find("is damaged: tensor 'a' "), 0u) << text;
    return text.substr(strlen("is damaged: tensor 'a' "));
  };
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [1])"), "has no dtype, shape or pair of data_offsets");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [1], "data_offsets": [0])"),
            "has no dtype, shape or pair of data_offsets");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [-1], "data_offsets": [0, 4])"), "has a size that is no natural number");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [4.0, 4], "data_offsets": [0, 64])"),
            "has a size that is no natural number");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [1.5], "data_offsets": [0, 4])"),
            "has a size that is no natural number");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [5], "data_offsets": [0, 20])"), "does not lie in the file");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [1], "data_offsets": [8, 4])"), "does not lie in the file");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [1], "data_offsets": [-4, 0])"), "does not lie in the file");
  EXPECT_EQ(tensor(R"("dtype": "F32", "shape": [2], "data_offsets": [0, 4])"),
            "has 4 bytes, which is not what its shape needs");
  // 2^62 * 2^2 is 0 in 64 bits.
  EXPECT_EQ(tensor(R"("dtype": "U8", "shape": [4611686018427387904, 4], "data_offsets": [0, 0])"),
            "has 0 bytes, which is not what its shape needs");
  EXPECT_EQ(tensor(R"("dtype": "U8", "shape": [1, 1, 1, 1, 1, 1, 1, 1, 1], "data_offsets": [0, 1])"),
            "has rank 9; the limit is 8");
}

TEST_F(SafetensorsTest, TensorsThatOverlap) {
  EXPECT_EQ(errorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [3, 7]},
                        "b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})",
                    "01234567"),
            "is damaged: tensors 'b' and 'a' share bytes");
  // The smallest of them stands inside of the largest.
  EXPECT_EQ(errorOf(R"({"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
                        "b": {"dtype": "U8", "shape": [0], "data_offsets": [4, 4]}})",
                    "01234567"),
            "is damaged: tensors 'a' and 'b' share bytes");
}

/// The format has no holes: what stands in one would be read by some programs and not by others.
TEST_F(SafetensorsTest, BytesOfNoTensor) {
  EXPECT_EQ(errorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [1, 5]}})", "01234"),
            "is damaged: 1 bytes in front of tensor 'a' belong to none");
  EXPECT_EQ(errorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                        "b": {"dtype": "U8", "shape": [2], "data_offsets": [6, 8]}})",
                    "01234567"),
            "is damaged: 2 bytes in front of tensor 'b' belong to none");
  EXPECT_EQ(errorOf(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})", "0123456"),
            "is damaged: 3 bytes at its end belong to no tensor");
  EXPECT_EQ(errorOf("{}", "0"), "is damaged: 1 bytes at its end belong to no tensor");
  EXPECT_EQ(errorOf("{}", ""), "");
}

TEST_F(SafetensorsTest, FilesThatCannotBeRead) {
  EXPECT_EQ(toString(openWeights("/nowhere/w.safetensors").takeError()),
            "cannot read '/nowhere/w.safetensors': No such file or directory");
  SmallString<128> folder;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("weights", folder));
  EXPECT_EQ(toString(openSafetensors(folder).takeError()), ("cannot read '" + folder + "': it is a folder").str());
  sys::fs::remove_directories(folder);
}
