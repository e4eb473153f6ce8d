//===- Table.cpp - a simulated run as text ------------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Output.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

static constexpr double kMicro = 1e6, kMega = 1e-6, kGiga = 1e-9;

std::string sim::titleOf(const Setup &setup) {
  const Cluster &cluster = setup.cluster;
  std::string title = formatv("{0} on {1} x {2}, {3} tokens per rank", setup.layer.name, cluster.ranks(), cluster.name,
                              setup.layer.tokens);
  if (cluster.nodes > 1)
    title += setup.nested ? ", exchanges between nodes and within one" : ", one exchange";
  if (!setup.layer.share.empty())
    title += ", uneven shares";
  return title;
}

namespace {
struct Printer {
  raw_ostream &os;

  void phase(StringRef name, double start, double end, const Twine &text) {
    os << left_justify(name, 10) << format("%9.1f %9.1f  ", start * kMicro, end * kMicro) << text << "\n";
  }
  void leg(StringRef name, const Leg &leg) {
    os << left_justify(name, 10)
       << format("%9.1f %9.1f %9.1f\n", leg.localBytes * kMega, leg.networkBytes * kMega, leg.seconds * kMicro);
  }
};
} // namespace

/// "products" or "link", whichever keeps a kernel from ending.
static std::string bounds(double products, double link) {
  return formatv("products {0:f1} us, link {1:f1} us: {2}", products * kMicro, link * kMicro,
                 products >= link ? "products bound it" : "the link bounds it");
}

void sim::printRun(const Setup &setup, const Schedule &schedule, const Run &run, raw_ostream &os) {
  const Summary summary = summarize(setup, run);
  Printer print{os};
  os << "simulated: " << titleOf(setup) << "\nschedule:  " << toString(schedule) << "\n\n";
  os << "phase      from us     to us\n";
  print.phase("announce", 0, run.announced, setup.nested ? "counts and ids; rows to the nodes" : "counts and ids");
  print.phase("up", run.announced, run.upEnd, bounds(run.upBusy, run.out.seconds));
  print.phase("down", run.upEnd + setup.cluster.launch, run.downEnd, bounds(run.downBusy, run.back.seconds));
  print.phase("return", run.firstReturn, run.seconds,
              formatv("{0:f1} us of it after down", (run.seconds - run.downEnd) * kMicro).str());
  print.phase("collect", run.seconds, run.seconds + run.collect, "not counted: the same in every schedule");
  os << "\nlink       local MB network MB  alone us\n";
  print.leg("rows out", run.out);
  print.leg("sums back", run.back);
  auto rate = [&](const Link &link) -> std::string {
    const double gigabytes = rateOf(link, setup.constants) * kGiga;
    return gigabytes < 1 ? formatv("{0:f3}", gigabytes) : formatv("{0:f0}", gigabytes);
  };
  os << "           of rates " << rate(setup.cluster.local) << " and " << rate(setup.cluster.network) << " GB/s\n\n";
  os << formatv("time       {0:f1} us; plain {1:f1} us\n", run.seconds * kMicro, summary.plain * kMicro);
  os << formatv("floor      {0:f1} us of two kernels, each as long as its products or its link alone; time is {1:f2} "
                "of it\n",
                summary.bound * kMicro, run.seconds / summary.bound);
  const double legs = summary.out + summary.back;
  if (legs > 0)
    os << formatv("hidden     {0:f1} % of communication, {1:f1} % of what can be hidden\n", 100 * summary.hidden / legs,
                  summary.hideable > 0 ? 100 * std::min(summary.hidden / summary.hideable, 1.0) : 0.0);
  const double products = run.upBusy + run.downBusy, links = run.out.seconds + run.back.seconds;
  const StringRef longest = 2 * std::max(products, links) < run.seconds ? "launches and latencies"
                            : products >= links                         ? "products"
                                                                        : "link";
  os << "bottleneck " << longest
     << formatv(": {0:f1} us of products, {1:f1} us of the link\n", products * kMicro, links * kMicro);
}
