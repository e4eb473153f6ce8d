//===- FakeCapture.cpp - work on a stream of the CUDA that records, which may be captured -------------------------===//

#include "FakeCuda.h"

using namespace moert;

void FakeCuda::beginCapture() {
  graph.clear();
  capturing = true;
  captureFailed = false;
}

bool FakeCuda::endCapture() {
  capturing = false;
  return !captureFailed;
}

void FakeCuda::replay() {
  for (Node &node : graph) {
    if (node.kernel.empty()) {
      node.work();
      continue;
    }
    std::vector<void *> arguments;
    for (uint64_t &value : node.values)
      arguments.push_back(&value);
    execute(node.kernel, arguments.data());
  }
}

void FakeCuda::onStream(std::function<void()> work) {
  if (capturing)
    graph.push_back({"", {}, std::move(work)});
  else if (!hangs)
    work();
}
