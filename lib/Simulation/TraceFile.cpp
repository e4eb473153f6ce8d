//===- TraceFile.cpp - a simulated run as a trace -----------------------------------------------------------------===//

#include "moe-mlir/Simulation/Output.h"

#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

void sim::traceRun(const Setup &setup, const Schedule &schedule, const Run &run, raw_ostream &os) {
  static constexpr StringLiteral names[] = {"products", "link", "network"};
  json::OStream json(os, 1);
  json.object([&] {
    json.attribute("displayTimeUnit", "ms");
    json.attributeObject("otherData", [&] {
      json.attribute("simulated", titleOf(setup));
      json.attribute("schedule", toString(schedule));
    });
    json.attributeArray("traceEvents", [&] {
      auto meta = [&](StringRef kind, int64_t thread, StringRef name) {
        json.object([&] {
          json.attribute("ph", "M");
          json.attribute("pid", run.rank);
          json.attribute("tid", thread);
          json.attribute("name", kind);
          json.attributeObject("args", [&] { json.attribute("name", name); });
        });
      };
      meta("process_name", 0, "rank " + std::to_string(run.rank) + " (simulated)");
      for (auto [thread, name] : enumerate(names))
        meta("thread_name", int64_t(thread), name);
      for (const Span &span : run.spans)
        json.object([&] {
          json.attribute("ph", "X");
          json.attribute("pid", run.rank);
          json.attribute("tid", int64_t(span.lane));
          json.attribute("name", span.name);
          json.attribute("ts", span.start * 1e6);
          json.attribute("dur", span.seconds * 1e6);
          if (span.bytes > 0)
            json.attributeObject("args", [&] { json.attribute("bytes", span.bytes); });
        });
    });
  });
  os << "\n";
}
