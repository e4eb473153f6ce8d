//===- Json.cpp - a report for programs ---------------------------------------------------------------------------===//

#include "Totals.h"

#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace moe_mlir;

static constexpr int64_t formatVersion = 1;

template <typename Number>
static void printNumber(json::OStream &json, StringRef key, const std::optional<Number> &value) {
  if (value)
    json.attribute(key, *value);
  else
    json.attribute(key, nullptr);
}

static void printQuantity(json::OStream &json, StringRef key, const Quantity &quantity, const Report &report) {
  json.attributeObject(key, [&] {
    json.attribute("expression", quantity.expression);
    for (const auto &[point, value] : zip(report.points, quantity.values))
      printNumber(json, point.name, value);
  });
}

static void printProgram(json::OStream &json, const KernelProgram &program) {
  json.attributeObject("program", [&] {
    json.attribute("kind", program.tile ? "tile" : "loops");
    if (program.tile) {
      json.attributeArray("tiles", [&] {
        for (auto [rows, columns] : program.tiles)
          json.value(json::Array{rows, columns});
      });
      json.attribute("accumulators", program.accumulators);
      json.attribute("instruction", program.instruction);
    }
    json.attribute("dtype", program.dtype);
    json.attribute("blocks", program.single ? "one" : "all");
  });
}

static void printSeconds(json::OStream &json, StringRef key, ArrayRef<std::optional<double>> values,
                         const Report &report) {
  json.attributeObject(key, [&] {
    for (const auto &[point, value] : zip(report.points, values))
      printNumber(json, point.name, value);
  });
}

static void printGpu(json::OStream &json, const GpuKernel &kernel, const Report &report) {
  json.attributeObject("gpu", [&] {
    if (kernel.tileRows) {
      json.attribute("tile", json::Array{kernel.tileRows, kernel.tileColumns});
      json.attribute("stages", kernel.stages);
    }
    json.attribute("threads", kernel.threads);
    json.attributeArray("roles", [&] {
      for (const GpuKernel::Role &role : kernel.roles)
        json.value(json::Object{{"name", role.name}, {"threads", role.threads}, {"registers", role.registers}});
    });
    json.attribute("blocks_per_multiprocessor", kernel.blocksPerMultiprocessor);
    json.attribute("shared_bytes", kernel.sharedBytes);
    printNumber(json, "registers", kernel.registers);
    printSeconds(json, "estimate_seconds", kernel.estimate, report);
    printSeconds(json, "floor_seconds", kernel.floor, report);
    json.attributeObject("terms", [&] {
      for (const auto &pair : zip(report.points, kernel.terms))
        json.attributeObject(std::get<0>(pair).name, [&] {
          for (const GpuTerm &term : std::get<1>(pair))
            json.attribute(term.name, term.seconds);
        });
    });
  });
}

static void printLaunch(json::OStream &json, const LaunchReport &launch, const Report &report) {
  json.object([&] {
    json.attribute("launch", launch.number);
    json.attribute("kernel", launch.kernel);
    json.attribute("module", launch.module);
    printProgram(json, launch.program);
    if (!launch.plan.empty())
      json.attribute("plan", launch.plan);
    printQuantity(json, "rows", launch.rows, report);
    printQuantity(json, "work", launch.work, report);
    printQuantity(json, "flops", launch.flops, report);
    printQuantity(json, "weights_read", launch.weights, report);
    printQuantity(json, "read", launch.read, report);
    printQuantity(json, "written", launch.written, report);
    if (launch.gpu)
      printGpu(json, *launch.gpu, report);
  });
}

template <typename Part, typename... Variant>
static void printTotals(json::OStream &json, const Part &part, const Report &report, Variant... variant) {
  for (size_t point = 0; point < report.points.size(); ++point)
    json.attributeObject(report.points[point].name, [&] {
      Totals totals = totalsOf(part, point, variant...);
      printNumber(json, "flops", totals.flops);
      printNumber(json, "weights_read", totals.weights);
      printNumber(json, "read", totals.read);
      printNumber(json, "written", totals.written);
      if (!report.gpu.empty()) {
        printNumber(json, "estimate_seconds", totals.estimate);
        printNumber(json, "floor_seconds", totals.floor);
      }
    });
}

static void printExchanges(json::OStream &json, const Report &report) {
  json.attributeArray("groups", [&] {
    for (const GroupReport &group : report.groups)
      json.object([&] {
        json.attribute("entry", group.entry);
        json.attribute("phase", group.phase);
        json.attributeArray("members", [&] {
          for (const GroupReport::Member &member : group.members)
            json.value(
                json::Object{{"kernel", member.kernel}, {"blocks", member.blocks}, {"phases", member.phases}});
        });
      });
  });
  if (!report.passes.empty())
    json.attributeArray("passes", [&] {
      for (const PassReport &own : report.passes)
        json.object([&] {
          json.attribute("entry", own.entry);
          json.attribute("layer", own.layer);
          json.attribute("tokens", own.tokens);
          printQuantity(json, "passes", own.passes, report);
        });
    });
  json.attributeArray("buffers", [&] {
    for (const BufferReport &buffer : report.buffers)
      json.object([&] {
        json.attribute("entry", buffer.entry);
        json.attribute("grid", buffer.grid);
        json.attributeArray("windows", [&] {
          for (const BufferReport::Window &window : buffer.windows)
            json.object([&] {
              json.attribute("name", window.name);
              json.attribute("type", window.type);
              printQuantity(json, "bytes", window.bytes, report);
            });
        });
        printQuantity(json, "bytes", buffer.bytes, report);
        printQuantity(json, "comet_bytes", buffer.published, report);
      });
  });
}

static void printVariants(json::OStream &json, const Report &report) {
  if (report.variants.empty())
    return;
  json.attributeArray("variants", [&] {
    for (auto [number, variant] : enumerate(report.variants))
      json.object([&, number = number, &variant = variant] {
        json.attribute("name", variant.name);
        json.attribute("weight_bytes", variant.weightBytes);
        json.attributeObject("totals", [&] { printTotals(json, report, report, number); });
      });
  });
}

void moe_mlir::printReportJson(const Report &report, raw_ostream &os) {
  json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", formatVersion);
    json.attribute("model", report.model);
    json.attributeObject("target", [&] {
      json.attribute("cpu", report.cpu);
      json.attribute("tile_rows", report.tileRows);
      json.attribute("tile_columns", report.tileColumns);
      json.attribute("vector", report.vector);
      json.attribute("dot_bf16", report.dotBf16);
      json.attribute("matrix_rows", report.matrixRows);
      if (!report.gpu.empty())
        json.attribute("gpu", report.gpu);
    });
    if (const CudaDevice *device = report.device)
      json.attributeObject("device", [&] {
        json.attribute("name", device->name);
        json.attribute("multiprocessors", device->multiprocessors);
        json.attribute("tensor_flops_per_second", device->flopsPerSecond());
        json.attribute("vector_flops_per_second", device->vectorFlopsPerSecond());
        json.attribute("memory_bytes_per_second", device->memoryBytesPerSecond);
        json.attribute("memory_bytes", device->memoryBytes);
        json.attribute("limited_tensor_flops_per_second",
                       device->multiprocessors * device->limitedHertz * device->tensorFlops);
        json.attribute("reachable_bytes_per_second", device->reachableBytesPerSecond);
      });
    json.attributeObject("points", [&] {
      for (const ReportPoint &point : report.points)
        json.attributeObject(point.name, [&] {
          for (const auto &[name, value] : point.sizes)
            json.attribute(name, value);
        });
    });
    json.attributeArray("layers", [&] {
      for (const LayerReport &layer : report.layers)
        json.object([&] {
          json.attribute("name", layer.name);
          json.attribute("entry", layer.entry);
          if (!report.variants.empty())
            json.attribute("variant", report.variants[report.variantOf(layer.entry)].name);
          json.attribute("weight_bytes", layer.weightBytes);
          json.attributeObject("totals", [&] { printTotals(json, layer, report); });
          json.attributeArray("launches", [&] {
            for (const LaunchReport &launch : layer.launches)
              printLaunch(json, launch, report);
          });
        });
    });
    json.attributeArray("plain", [&] {
      for (const mlir::moe::PlainLayer &layer : report.plain)
        json.value(json::Object{{"kind", mlir::moe::nameOf(layer.kind)},
                                {"layer", layer.layer},
                                {"place", layer.place},
                                {"step", layer.step},
                                {"reason", layer.reason},
                                {"at", layer.at}});
    });
    if (const auto &division = report.division)
      json.attributeObject("parallel", [&] {
        auto print = [&](const DivisionReport &each) {
          json.attribute("parallel", each.parallel);
          if (!each.why.empty())
            return json.attribute("not_taken", each.why);
          json.attribute("estimate_seconds", each.estimate);
          json.attribute("exchange_seconds", each.exchanged);
          json.attribute("memory_bytes", int64_t(each.memory));
        };
        json.attribute("estimated", division->machine);
        print(division->chosen);
        json.attributeArray("alternatives", [&] {
          for (const DivisionReport &each : division->alternatives)
            json.object([&] { print(each); });
        });
      });
    json.attributeArray("schedules", [&] {
      for (const ScheduleReport &layer : report.schedules) {
        json::Object entry{{"name", layer.name}, {"entry", layer.entry}, {"schedule", layer.schedule}};
        if (!layer.why.empty()) {
          entry["not_simulated"] = layer.why;
        } else {
          entry["simulated"] = layer.machine;
          entry["estimate_seconds"] = layer.estimate;
          entry["plain_seconds"] = layer.plain;
          entry["floor_seconds"] = layer.floor;
          entry["hidden"] = layer.hidden;
        }
        json.value(std::move(entry));
      }
    });
    printExchanges(json, report);
    printVariants(json, report);
    json.attribute("weight_bytes", report.weightBytes);
    json.attributeObject("totals", [&] { printTotals(json, report, report); });
  });
  os << "\n";
}
