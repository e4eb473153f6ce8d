//===- Plot.cpp - a simulated run as SVG --------------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Output.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

// In pixels.
static constexpr double kWidth = 960, kLeft = 90, kRight = 20, kTop = 58, kLane = 34, kGap = 10;
// A text of so many pixels per letter fits into a box or is left out.
static constexpr double kLetter = 6.2;

namespace {
struct LaneStyle {
  Span::Lane lane;
  StringLiteral name, even, odd, text;
};
} // namespace

// Colours that readers who are blind to some of them tell apart, two of each for neighbours.
static constexpr LaneStyle kLanes[] = {{Span::Link, "link", "#e69f00", "#f2c14e", "black"},
                                       {Span::Network, "network", "#cc79a7", "#dda3c3", "black"},
                                       {Span::Products, "products", "#0072b2", "#2a86bf", "white"}};

static std::string escaped(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  printHTMLEscaped(text, os);
  return result;
}

void sim::plotRun(const Setup &setup, const Schedule &schedule, const Run &run, raw_ostream &os) {
  const double end = run.seconds + run.collect, scale = (kWidth - kLeft - kRight) / end;
  SmallVector<LaneStyle> lanes;
  for (const LaneStyle &style : kLanes)
    if (any_of(run.spans, [&](const Span &span) { return span.lane == style.lane; }))
      lanes.push_back(style);
  const double height = kTop + double(lanes.size()) * (kLane + kGap) + 40;
  os << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:f0}\" height=\"{1:f0}\" "
                "font-family=\"sans-serif\" font-size=\"11\">\n",
                kWidth, height);
  os << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  os << formatv("<text x=\"{0:f0}\" y=\"20\" font-size=\"14\">Simulated: {1}, {2:f1} us</text>\n", kLeft,
                escaped(titleOf(setup)), run.seconds * 1e6);
  os << formatv("<text x=\"{0:f0}\" y=\"38\" fill=\"#555\">{1}</text>\n", kLeft, escaped(toString(schedule)));
  double y = kTop;
  for (const LaneStyle &style : lanes) {
    os << formatv("<text x=\"10\" y=\"{0:f1}\">{1}</text>\n", y + kLane / 2 + 4, style.name);
    int index = 0;
    for (const Span &span : run.spans) {
      if (span.lane != style.lane)
        continue;
      const double x = kLeft + span.start * scale, width = std::max(span.seconds * scale, 0.5);
      os << formatv("<rect x=\"{0:f2}\" y=\"{1:f1}\" width=\"{2:f2}\" height=\"{3:f0}\" fill=\"{4}\">"
                    "<title>{5}: {6:f1} to {7:f1} us</title></rect>\n",
                    x, y, width, kLane, index++ % 2 ? style.odd : style.even, escaped(span.name), span.start * 1e6,
                    (span.start + span.seconds) * 1e6);
      if (double(span.name.size()) * kLetter < width)
        os << formatv("<text x=\"{0:f2}\" y=\"{1:f1}\" fill=\"{2}\">{3}</text>\n", x + 3, y + kLane / 2 + 4, style.text,
                      escaped(span.name));
    }
    y += kLane + kGap;
  }
  // Ticks at 1, 2 or 5 times a power of ten, five to twelve of them.
  double tick = std::pow(10.0, std::floor(std::log10(end * 1e6 / 5)));
  for (double factor : {5.0, 2.0})
    if (end * 1e6 / (tick * factor) >= 5) {
      tick *= factor;
      break;
    }
  for (double time = 0; time <= end * 1e6; time += tick) {
    const double x = kLeft + time * 1e-6 * scale;
    os << formatv("<line x1=\"{0:f2}\" y1=\"{1:f1}\" x2=\"{0:f2}\" y2=\"{2:f1}\" stroke=\"#bbb\"/>\n", x, kTop - 6, y);
    os << formatv("<text x=\"{0:f2}\" y=\"{1:f1}\" text-anchor=\"middle\">{2}{3}</text>\n", x, y + 16,
                  formatv("{0}", int64_t(std::llround(time))), time == 0 ? " us" : "");
  }
  os << "</svg>\n";
}
