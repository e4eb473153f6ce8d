//===- RecipeTest.cpp - each recipe step against its definition ---------------------------------------------------===//

#include "moe-mlir/Weights/Recipe.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace llvm;
using namespace moe_mlir;

namespace {

/// Row-major f32 or u16 data with all different values.
template <typename T> struct Tensor {
  SmallVector<int64_t> sizes;
  std::vector<T> data;

  Tensor(std::initializer_list<int64_t> sizes, T first = 1) : sizes(sizes) {
    data.resize(std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>()));
    std::iota(data.begin(), data.end(), first);
  }
  Blob blob(moert_dtype dtype) const {
    return Blob::contiguous(dtype, sizes,
                            ArrayRef(reinterpret_cast<const char *>(data.data()), data.size() * sizeof(T)));
  }
};

class RecipeTest : public ::testing::Test {
protected:
  RecipeTest() { context.loadDialect<mlir::moe::MoeDialect>(); }

  mlir::ArrayAttr parse(StringRef recipe) { return cast<mlir::ArrayAttr>(mlir::parseAttribute(recipe, &context)); }

  template <typename T> std::vector<T> run(ArrayRef<Blob> sources, StringRef recipe, ArrayRef<int64_t> sizes) {
    Expected<PackedTensor> tensor = PackedTensor::create(sources, parse(recipe));
    if (!tensor) {
      ADD_FAILURE() << toString(tensor.takeError());
      return {};
    }
    EXPECT_EQ(tensor->sizes(), sizes);
    std::vector<char> bytes;
    EXPECT_TRUE(tensor->produce([&](ArrayRef<char> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return true;
    }));
    EXPECT_EQ(bytes.size(), tensor->bytes());
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

  std::string failure(ArrayRef<Blob> sources, StringRef recipe) {
    Expected<PackedTensor> tensor = PackedTensor::create(sources, parse(recipe));
    return tensor ? "" : toString(tensor.takeError());
  }

  mlir::MLIRContext context;
};

/// The definition in MoeAttrs.td, element by element, for one matrix [n, k].
template <typename T>
std::vector<T> packed(const T *matrix, int64_t n, int64_t k, int64_t columns, int64_t pairs, bool halves = false,
                      bool interleaved = false) {
  int64_t blocks = (n + columns - 1) / columns, steps = (k + pairs - 1) / pairs;
  std::vector<T> result(blocks * steps * columns * pairs, T(0));
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < k; ++c) {
      int64_t block = r / columns, column = r % columns;
      if (halves) {
        int64_t half = interleaved ? r % 2 : r / (n / 2), i = interleaved ? r / 2 : r % (n / 2);
        block = i / (columns / 2);
        column = i % (columns / 2) + half * (columns / 2);
      }
      result[((block * steps + c / pairs) * columns + column) * pairs + c % pairs] = matrix[r * k + c];
    }
  return result;
}

TEST_F(RecipeTest, WithoutStepsIsACopy) {
  Tensor<float> t({3, 5});
  EXPECT_EQ(run<float>({t.blob(MOERT_F32)}, "[]", {3, 5}), t.data);
  Tensor<float> scalar({});
  EXPECT_EQ(run<float>({scalar.blob(MOERT_F32)}, "[]", {}), scalar.data);
  Tensor<float> large({3, 700001}); // rows longer than a piece
  EXPECT_EQ(run<float>({large.blob(MOERT_F32)}, "[]", {3, 700001}), large.data);
}

TEST_F(RecipeTest, StridedSource) {
  Tensor<float> t({2, 3});
  Blob blob = t.blob(MOERT_F32);
  blob.sizes = {3, 2};
  blob.strides = {1, 3};
  EXPECT_EQ(run<float>({blob}, "[]", {3, 2}), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

/// A file may hold any byte for true; programs compute indices from bools.
TEST_F(RecipeTest, BoolsAreZeroOrOne) {
  Tensor<uint8_t> t({2, 3}, 254); // 254, 255, 0, 1, 2, 3
  EXPECT_EQ(run<uint8_t>({t.blob(MOERT_BOOL)}, "[]", {2, 3}), (std::vector<uint8_t>{1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(run<uint8_t>({t.blob(MOERT_BOOL)}, "[#moe.transpose<[1, 0]>]", {3, 2}),
            (std::vector<uint8_t>{1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(run<uint8_t>({t.blob(MOERT_U8)}, "[]", {2, 3}), t.data);
}

TEST_F(RecipeTest, Stack) {
  Tensor<float> a({2, 2}, 1), b({2, 2}, 10);
  EXPECT_EQ(run<float>({a.blob(MOERT_F32), b.blob(MOERT_F32)}, "[#moe.stack]", {2, 2, 2}),
            (std::vector<float>{1, 2, 3, 4, 10, 11, 12, 13}));
}

TEST_F(RecipeTest, Concat) {
  Tensor<float> a({2, 1}, 1), b({2, 2}, 10);
  EXPECT_EQ(run<float>({a.blob(MOERT_F32), b.blob(MOERT_F32)}, "[#moe.concat<1>]", {2, 3}),
            (std::vector<float>{1, 10, 11, 2, 12, 13}));
}

TEST_F(RecipeTest, SliceAcrossABorder) {
  Tensor<float> a({2, 2}, 1), b({2, 2}, 10);
  EXPECT_EQ(run<float>({a.blob(MOERT_F32), b.blob(MOERT_F32)}, "[#moe.concat<0>, #moe.slice<0, 1, 2>]", {2, 2}),
            (std::vector<float>{3, 4, 10, 11}));
  EXPECT_EQ(run<float>({a.blob(MOERT_F32)}, "[#moe.slice<1, 1, 1>]", {2, 1}), (std::vector<float>{2, 4}));
}

TEST_F(RecipeTest, Transpose) {
  Tensor<float> t({2, 3, 4});
  std::vector<float> expected;
  for (int64_t k = 0; k < 4; ++k)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 3; ++j)
        expected.push_back(t.data[(i * 3 + j) * 4 + k]);
  EXPECT_EQ(run<float>({t.blob(MOERT_F32)}, "[#moe.transpose<[2, 0, 1]>]", {4, 2, 3}), expected);
}

TEST_F(RecipeTest, Order) {
  Tensor<float> t({3, 2}, 1);
  EXPECT_EQ(run<float>({t.blob(MOERT_F32)}, "[#moe.order<[2, 0, 1]>]", {3, 2}),
            (std::vector<float>{5, 6, 1, 2, 3, 4}));
  // Entries of several sources, behind steps that leave a part of them, and in parts of an entry.
  Tensor<float> a({2, 2}, 1), b({2, 2}, 10);
  std::vector<Blob> both = {a.blob(MOERT_F32), b.blob(MOERT_F32)};
  EXPECT_EQ(run<float>(both, "[#moe.concat<0>, #moe.slice<0, 1, 3>, #moe.order<[1, 2, 0]>]", {3, 2}),
            (std::vector<float>{10, 11, 12, 13, 3, 4}));
  EXPECT_EQ(run<float>(both, "[#moe.stack, #moe.order<[1, 0]>, #moe.transpose<[2, 1, 0]>]", {2, 2, 2}),
            (std::vector<float>{10, 1, 12, 3, 11, 2, 13, 4}));
  EXPECT_EQ(run<float>(both, "[#moe.concat<1>, #moe.order<[1, 0]>]", {2, 4}),
            (std::vector<float>{3, 4, 12, 13, 1, 2, 10, 11}));
}

TEST_F(RecipeTest, CutNumbersParts) {
  Tensor<float> a({2, 4, 3}), b({2, 4, 3}, 101);
  Blob blobs[] = {a.blob(MOERT_F32), b.blob(MOERT_F32)};
  auto element = [&](int64_t e, int64_t n, int64_t k) { return (n < 4 ? a : b).data[(e * 4 + n % 4) * 3 + k]; };
  for (bool halves : {false, true}) {
    std::vector<float> expected;
    for (int64_t part = 0; part < 2; ++part)
      for (int64_t e = 0; e < 2; ++e)
        for (int64_t n = 0; n < 4; ++n)
          for (int64_t k = 0; k < 3; ++k)
            expected.push_back(element(e, halves ? n / 2 * 4 + part * 2 + n % 2 : part * 4 + n, k));
    std::string step = std::string("#moe.cut<dim = 1, parts = 2") + (halves ? ", halves = true>" : ">");
    EXPECT_EQ(run<float>(blobs, "[#moe.concat<1>, " + step + "]", {2, 2, 4, 3}), expected);
  }
  std::vector<float> columns;
  for (int64_t part = 0; part < 3; ++part)
    for (int64_t row = 0; row < 8; ++row)
      columns.push_back(a.data[row * 3 + part]);
  EXPECT_EQ(run<float>(a.blob(MOERT_F32), "[#moe.cut<dim = 2, parts = 3>]", {3, 2, 4, 1}), columns);
}

TEST_F(RecipeTest, FirstIsFollowedByZeros) {
  Tensor<uint16_t> a({2, 3});
  std::vector<uint16_t> expected(a.data);
  expected.resize(4 * 6, 0);
  EXPECT_EQ(run<uint16_t>(a.blob(MOERT_BF16), "[#moe.first<parts = 4>]", {4, 2, 3}), expected);
  StringRef cast = "[#moe.slice<0, 0, 1>, #moe.cast<f32>, #moe.first<parts = 2>]";
  EXPECT_EQ(run<float>(a.blob(MOERT_BF16), cast, {2, 1, 3}).back(), 0.f);
}

TEST_F(RecipeTest, PartsArePackedOneByOne) {
  Tensor<uint16_t> a({8, 5});
  std::vector<uint16_t> expected;
  for (int64_t part = 0; part < 2; ++part) {
    uint16_t rows[4 * 5]; // two of gate, two of up
    for (int64_t n = 0; n < 4; ++n)
      std::copy_n(&a.data[(n / 2 * 4 + part * 2 + n % 2) * 5], 5, rows + n * 5);
    std::vector<uint16_t> one = packed(rows, 4, 5, 4, 2, /*halves=*/true);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  StringRef recipe = "[#moe.cut<dim = 0, parts = 2, halves = true>, "
                     "#moe.pack<columns = 4, pairs = 2, halves = true>]";
  EXPECT_EQ(run<uint16_t>(a.blob(MOERT_BF16), recipe, {2, 1, 3, 4, 2}), expected);
}

TEST_F(RecipeTest, CastsRunInOrder) {
  std::vector<float> data = {1.0f, 1.00390625f, 1.01171875f};
  Blob blob = Blob::contiguous(MOERT_F32, {3}, ArrayRef(reinterpret_cast<char *>(data.data()), 12));
  EXPECT_EQ(run<uint16_t>({blob}, "[#moe.cast<bf16>]", {3}), (std::vector<uint16_t>{0x3f80, 0x3f80, 0x3f82}));
  EXPECT_EQ(run<float>({blob}, "[#moe.cast<bf16>, #moe.cast<f32>]", {3}), (std::vector<float>{1, 1, 1.015625f}));
}

TEST_F(RecipeTest, PackPads) {
  for (int64_t n : {1, 63, 64, 130})
    for (int64_t k : {1, 5, 256, 515}) {
      Tensor<float> t({n, k});
      EXPECT_EQ(run<float>({t.blob(MOERT_F32)}, "[#moe.pack<columns = 64, pairs = 1>]", {(n + 63) / 64, k, 64}),
                packed(t.data.data(), n, k, 64, 1));
      Tensor<uint16_t> h({n, k});
      EXPECT_EQ(run<uint16_t>({h.blob(MOERT_BF16)}, "[#moe.pack<columns = 64, pairs = 2>]",
                              {(n + 63) / 64, (k + 1) / 2, 64, 2}),
                packed(h.data.data(), n, k, 64, 2));
      // A step of a GPU's products.
      EXPECT_EQ(run<uint16_t>({h.blob(MOERT_BF16)}, "[#moe.pack<columns = 128, pairs = 64>]",
                              {(n + 127) / 128, (k + 63) / 64, 128, 64}),
                packed(h.data.data(), n, k, 128, 64));
    }
}

TEST_F(RecipeTest, PackHalves) {
  for (int64_t n : {2, 64, 90})
    for (bool interleaved : {false, true}) {
      Tensor<float> t({n, 7});
      std::string recipe = std::string("[#moe.pack<columns = 64, pairs = 1, halves = true") +
                           (interleaved ? ", interleaved = true>]" : ">]");
      EXPECT_EQ(run<float>({t.blob(MOERT_F32)}, recipe, {(n + 63) / 64, 7, 64}),
                packed(t.data.data(), n, 7, 64, 1, true, interleaved));
    }
}

TEST_F(RecipeTest, ExpertsFromSeparateTransposedTensors) {
  // Two experts, each [K = 3, N = 5] in the file, packed as [E, N, K].
  Tensor<uint16_t> a({3, 5}, 1), b({3, 5}, 100);
  std::vector<uint16_t> expected;
  for (const Tensor<uint16_t> *t : {&a, &b}) {
    std::vector<uint16_t> turned;
    for (int64_t n = 0; n < 5; ++n)
      for (int64_t k = 0; k < 3; ++k)
        turned.push_back(t->data[k * 5 + n]);
    auto block = packed(turned.data(), 5, 3, 4, 2);
    expected.insert(expected.end(), block.begin(), block.end());
  }
  EXPECT_EQ(run<uint16_t>({a.blob(MOERT_BF16), b.blob(MOERT_BF16)},
                          "[#moe.stack, #moe.transpose<[0, 2, 1]>, #moe.pack<columns = 4, pairs = 2>]",
                          {2, 2, 2, 4, 2}),
            expected);
}

TEST_F(RecipeTest, Errors) {
  Tensor<float> a({2, 3}), b({2, 4});
  Tensor<uint16_t> h({2, 3});
  Blob fa = a.blob(MOERT_F32), fb = b.blob(MOERT_F32), fh = h.blob(MOERT_BF16);
  EXPECT_EQ(failure({fa, fb}, "[]"), "2 sources need #moe.stack or #moe.concat as the first step");
  EXPECT_EQ(failure({fa, fb}, "[#moe.stack]"), "cannot stack source 1, [2, 4] of f32, with source 0, [2, 3] of f32");
  EXPECT_EQ(failure({fa, fh}, "[#moe.concat<0>]"),
            "cannot concat source 1, [2, 3] of bf16, to source 0, [2, 3] of f32, along dimension 0");
  EXPECT_EQ(failure({fa}, "[#moe.concat<2>]"), "concat along dimension 2 of a tensor of rank 2");
  EXPECT_EQ(failure({fa}, "[#moe.slice<0, 1, 2>]"),
            "#moe.slice<0, 1, 2>: slice of 2 at 1 in dimension 0, which has size 2");
  EXPECT_EQ(failure({fa}, "[#moe.transpose<[0, 2, 1]>]"),
            "#moe.transpose<[0, 2, 1]>: [0, 2, 1] is not a permutation of the 2 dimensions");
  Tensor<int64_t> ids({2});
  EXPECT_EQ(failure({ids.blob(MOERT_I64)}, "[#moe.cast<f32>]"), "#moe.cast<f32>: no cast from i64 to f32");
  EXPECT_EQ(failure({fa}, "[#moe.slice<0, 0, 1>, #moe.stack]"),
            "#moe.stack: stack and concat join the sources, so they come first");
  EXPECT_EQ(failure({fa}, "[#moe.pack<columns = 4, pairs = 1>, #moe.slice<0, 0, 1>]"),
            "#moe.pack<columns = 4, pairs = 1>: nothing can follow a pack");
  Tensor<float> odd({3, 2});
  EXPECT_EQ(failure({odd.blob(MOERT_F32)}, "[#moe.pack<columns = 4, pairs = 1, halves = true>]"),
            "halves need an even number of rows and columns");
  EXPECT_EQ(failure({fa}, "[#moe.cut<dim = 2, parts = 2>]"),
            "#moe.cut<dim = 2, parts = 2>: cut of dimension 2 of a tensor of rank 2");
  EXPECT_EQ(failure({fa}, "[#moe.cut<dim = 1, parts = 2>]"),
            "#moe.cut<dim = 1, parts = 2>: 2 parts of dimension 1 of [2, 3], which are not equal");
  EXPECT_EQ(failure({fb}, "[#moe.cut<dim = 0, parts = 2, halves = true>]"),
            "#moe.cut<dim = 0, parts = 2, halves = true>: 2 parts of both halves of dimension 0 of [2, 4], which are "
            "not equal");
  EXPECT_EQ(failure({fa}, "[#moe.cut<dim = 0, parts = 9223372036854775807>]"),
            "#moe.cut<dim = 0, parts = 9223372036854775807>: 9223372036854775807 parts; there can be 1 to 65536");
  EXPECT_EQ(failure({fa}, "[#moe.first<parts = 65537>]"),
            "#moe.first<parts = 65537>: 65537 parts; there can be 1 to 65536");
  EXPECT_EQ(failure({fa}, "[7 : i64]"), "7 : i64: not a step of a recipe");
  fa.data = fa.data.drop_back();
  EXPECT_EQ(failure({fa}, "[]"), "[2, 3] of f32 does not fit into its 23 bytes");
}

} // namespace
