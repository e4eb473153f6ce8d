//===- LayerTest.cpp - shapes of layers ---------------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Layer.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace moe_mlir::sim;

TEST(Layer, HasANameAndSizes) {
  Layer layer = llvm::cantFail(parseLayer("mixtral-8x7b,gated=no,ffn=7168"));
  EXPECT_EQ(layer.experts, 8);
  EXPECT_EQ(layer.hidden, 4096);
  EXPECT_EQ(layer.ffn, 7168);
  EXPECT_FALSE(layer.gated);
  layer = llvm::cantFail(parseLayer("experts=4, top-k=2, hidden=64, ffn=32"));
  EXPECT_EQ(layer.topK, 2);
  auto error = [](const char *text) { return llvm::toString(parseLayer(text).takeError()); };
  EXPECT_EQ(error("gpt"), "no layer is called 'gpt'; there are " + layerNames() +
                              ", or experts=N,top-k=N,hidden=N,ffn=N");
  EXPECT_EQ(error("ffn=7,mixtral-8x7b").substr(0, 34), "no layer is called 'mixtral-8x7b';");
  EXPECT_EQ(error("experts=4"), "layer 'experts=4' lacks top-k=N");
  EXPECT_EQ(error("olmoe,gated=maybe"), "'gated' of a layer is yes or no, not 'maybe'");
  EXPECT_EQ(error("olmoe,depth=3"), "a layer has no 'depth'; it has experts, top-k, hidden, ffn, gated");
  EXPECT_EQ(error("olmoe,ffn=0"), "'ffn' of a layer is a number from 1 to 16777216, not '0'");
  EXPECT_EQ(llvm::toString(checkLayer(layer, 3)), "4 experts do not divide among 3 ranks");
  layer.topK = 5;
  EXPECT_EQ(llvm::toString(checkLayer(layer, 2)), "a token has 5 experts, the layer 4");
  layer = llvm::cantFail(parseLayer("experts=16777216,top-k=2,hidden=16777216,ffn=32"));
  EXPECT_EQ(llvm::toString(checkLayer(layer, 2)), "the layer has more than 2^44 weights");
  layer = llvm::cantFail(parseLayer("olmoe"));
  layer.tokens = int64_t(1) << 30;
  EXPECT_EQ(llvm::toString(checkLayer(layer, 2)), "a rank has more than 2^32 pairs of a token and an expert");
}

/// 1 - C(E - E/W, k) / C(E, k), of docs that everybody can compute by hand.
TEST(Layer, SendsATokenOnceToARank) {
  Layer layer = llvm::cantFail(parseLayer("qwen3-30b"));
  double none = 1;
  for (int i = 0; i < 8; ++i)
    none *= double(112 - i) / (128 - i);
  EXPECT_NEAR(layer.chance(1. / 8), 1 - none, 1e-12);
  EXPECT_NEAR(llvm::cantFail(parseLayer("mixtral-8x7b")).chance(1. / 8), 0.25, 1e-12);
  EXPECT_EQ(layer.chance(0), 0);
  EXPECT_EQ(layer.chance(1), 1);
  EXPECT_LT(layer.chance(0.1), layer.chance(0.1001));
}

TEST(Layer, SharesHaveTheDeviationThatIsAskedFor) {
  std::vector<double> share = llvm::cantFail(drawnShares(8, 0.032));
  double sum = 0, squares = 0;
  for (double value : share) {
    EXPECT_GE(value, 0);
    sum += value;
    squares += (value - 0.125) * (value - 0.125);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(std::sqrt(squares / 8), 0.032, 1e-12);
  EXPECT_EQ(llvm::toString(drawnShares(8, 0.5).takeError()),
            "shares of 8 ranks cannot deviate by 0.500000: some would be below zero");
}
