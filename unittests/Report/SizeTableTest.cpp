//===- SizeTableTest.cpp - what is known of sizes -----------------------------------------------------------------===//

#include "SizeTable.h"

#include "gtest/gtest.h"

using namespace moe_mlir;

namespace {
class SizeTableTest : public testing::Test {
  SizeTable sizes;

protected:
  SizeExpr n = sizes.named("n"), m = sizes.named("m");

  SizeTable &table() { return sizes; }
  std::optional<int64_t> at(const SizeExpr &expr, int64_t nValue, int64_t mValue) {
    llvm::StringMap<int64_t> values;
    values["n"] = nValue;
    values["m"] = mValue;
    return sizes.evaluate(expr, values);
  }
};
} // namespace

TEST_F(SizeTableTest, Prints) {
  EXPECT_EQ(table().toString(SizeExpr(0)), "0");
  EXPECT_EQ(table().toString(n * n * 2 - m + 7), "2*n*n - m + 7");
  EXPECT_EQ(table().toString(table().floorDiv(n + 63, 64) * 256), "256*((n + 63) / 64)");
  EXPECT_EQ(table().toString(table().floorDiv(n, m)), "((n) / (m))");
  EXPECT_EQ(table().toString(table().max(n - 24, 0)), "max(0, n - 24)");
}

TEST_F(SizeTableTest, EqualsIsOneSymbol) {
  EXPECT_EQ(table().min(n, m), table().min(m, n));
  EXPECT_EQ(table().floorDiv(n + 1, 2), table().floorDiv(n + 1, 2));
  EXPECT_EQ(table().named("n"), n);
  EXPECT_NE(table().variable(), table().variable());
}

TEST_F(SizeTableTest, QuotientsRoundDown) {
  EXPECT_EQ(table().floorDiv(n * 64, 64), n);
  EXPECT_EQ(table().floorDiv(n * 2 - 1, 2), n - 1);
  EXPECT_EQ(table().floorDiv(n * m, m), n);
  EXPECT_EQ(at(table().floorDiv(n - m, 4), 0, 1), -1);
  EXPECT_EQ(at(table().floorDiv(n, m), 1, 0), std::nullopt);
}

TEST_F(SizeTableTest, OrderIsOnlyWhatFollows) {
  EXPECT_TRUE(table().isAtLeast(n + m, n));
  EXPECT_FALSE(table().isAtLeast(n, m));
  EXPECT_FALSE(table().isAtLeast(n - 1, 0));
  table().addFact(SizeExpr(512) - n - m);
  EXPECT_EQ(table().min(512, n + m), n + m);
  EXPECT_TRUE(table().isAtLeast(8, table().floorDiv(n + m + 63, 64)));
  EXPECT_FALSE(table().isAtLeast(8, table().floorDiv(n + m + 64, 64)));
  EXPECT_TRUE(table().isAtLeast(table().floorDiv(n + 47, 48) * 48, n));
  EXPECT_TRUE(table().isAtLeast(table().floorDiv(n + m, 2), table().floorDiv(n, 2)));
}

/// Minima and quotients of what may be negative may be negative themselves.
TEST_F(SizeTableTest, SignsAreKept) {
  EXPECT_NE(table().max(table().min(n - 24, m), 0), table().min(n - 24, m));
  EXPECT_NE(table().max(table().floorDiv(n - 24, 5), 0), table().floorDiv(n - 24, 5));
  EXPECT_EQ(table().max(table().min(n, m), 0), table().min(n, m));
  EXPECT_EQ(table().max(table().max(n - 24, 0), 0), table().max(n - 24, 0));
}

TEST_F(SizeTableTest, LeastOfSeveral) {
  EXPECT_EQ(table().min({n + m, n + 1, n, n}), n);
  EXPECT_EQ(at(table().min({n, m, SizeExpr(5)}), 7, 6), 5);
  EXPECT_EQ(at(table().min({n, m, SizeExpr(5)}), 7, 2), 2);
}

TEST_F(SizeTableTest, UnknownSizesHaveNoValue) {
  EXPECT_EQ(at(n * m + 1, 3, 4), 13);
  EXPECT_EQ(at(n + table().named("blocks"), 3, 4), std::nullopt);
  EXPECT_EQ(at(table().variable(), 3, 4), std::nullopt);
  EXPECT_TRUE(table().mentions(table().min(n + 1, m), {"m"}));
  EXPECT_FALSE(table().mentions(n + 1, {"m"}));
}
