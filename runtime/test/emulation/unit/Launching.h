//===- Launching.h - small kernels as lambdas ---------------------------------------------------------------------===//
#ifndef MOE_TEST_EMULATION_LAUNCHING_H
#define MOE_TEST_EMULATION_LAUNCHING_H

#include "Launch.h"
#include "device.cuh"

#include <gtest/gtest.h>
#include <vector>

using moe::emulation::Options;
using moe::emulation::Report;
using moe::emulation::Timing;

/// Runs the kernel under every timing, even and skewed, and returns the first fault.
inline std::string faultOf(Options options, const std::function<void()> &kernel) {
  for (uint64_t seed = 1; seed <= 3; ++seed)
    for (Timing timing : {Timing::Eager, Timing::Lazy, Timing::Random})
      for (bool skewed : {false, true}) {
        options.seed = seed;
        options.timing = timing;
        options.skewed = skewed;
        const Report report = moe::emulation::launch(options, kernel);
        if (!report.ok())
          return report.fault;
      }
  return "";
}

#define EXPECT_FAULT(options, text, ...)                                                                               \
  EXPECT_NE(faultOf(options, __VA_ARGS__).find(text), std::string::npos) << faultOf(options, __VA_ARGS__)
#define EXPECT_CLEAN(options, ...) EXPECT_EQ(faultOf(options, __VA_ARGS__), "")

/// Registered as long as it lives.
template <typename T> struct Buffer {
  std::vector<T> data;
  Buffer(size_t count, const char *name, bool writable = true) : data(count) {
    moe::emulation::registerGlobal(data.data(), count * sizeof(T), name, writable);
  }
  ~Buffer() { moe::emulation::clearGlobals(); }
  T *operator+(size_t i) { return data.data() + i; }
};

#endif
