//===- PtxasLogTest.cpp - what is read in the log of ptxas --------------------------------------------------------===//

#include "moe-mlir/Target/Nvrtc.h"

#include <gtest/gtest.h>

using namespace moe_mlir;

static Cubin read(const std::string &log) {
  Cubin cubin;
  cubin.log = log;
  readLog("up", cubin);
  return cubin;
}

TEST(PtxasLog, GoodKernel) {
  Cubin cubin = read("ptxas info    : 0 bytes gmem\n"
                     "ptxas info    : Compiling entry function 'up' for 'sm_90a'\n"
                     "ptxas info    : Function properties for up\n"
                     "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                     "ptxas info    : Used 168 registers, used 8 barriers\n");
  EXPECT_EQ(cubin.registers, 168);
  EXPECT_EQ(cubin.stackBytes, 0);
  EXPECT_TRUE(cubin.warnings.empty());
}

TEST(PtxasLog, Spills) {
  Cubin cubin = read("    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
                     "ptxas info    : Used 32 registers\n");
  EXPECT_EQ(cubin.stackBytes, 24);
  EXPECT_EQ(cubin.spillBytes, 36);
  EXPECT_EQ(cubin.warnings, std::vector<std::string>{"kernel 'up' spills registers: 36 bytes of stores and loads"});
}

TEST(PtxasLog, WordsOnProducts) {
  Cubin cubin = read("ptxas info    : (C7520) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
                     "ptxas info    : (C7404) something else\n");
  EXPECT_EQ(cubin.warnings,
            std::vector<std::string>{"kernel 'up': ptxas (C7520) Potential Performance Loss: wgmma.mma_async "
                                     "instructions are serialized"});
}
