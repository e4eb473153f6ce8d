//===- Schedule.cpp - text of a schedule --------------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Schedule.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

static constexpr int64_t kMost = 1 << 20, kMostParts = 1 << 12;

bool Schedule::operator==(const Schedule &other) const { return toString(*this) == toString(other); }

static Error wrong(const Twine &text) { return createStringError("schedule: " + text); }

static bool readNumber(StringRef text, int64_t &value) {
  return !text.trim().getAsInteger(10, value) && value >= 1 && value <= kMost;
}

/// Cuts at commas outside of brackets.
static SmallVector<StringRef> fieldsOf(StringRef text) {
  SmallVector<StringRef> fields;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !depth)) {
      fields.push_back(text.slice(begin, i).trim());
      begin = i + 1;
    } else {
      depth += text[i] == '[';
      depth -= text[i] == ']' && depth;
    }
  }
  return fields;
}

static Error readField(StringRef key, StringRef value, Schedule &schedule) {
  if (key == "order") {
    if (value != "source" && value != "part")
      return wrong("'order' is source or part, not '" + printable(value) + "'");
    schedule.order = value == "part" ? Schedule::Part : Schedule::Source;
    return Error::success();
  }
  if (key == "steps") {
    SmallVector<StringRef> parts;
    if (!value.consume_front("[") || !value.consume_back("]"))
      return wrong("'steps' is a list in brackets, not '" + printable(value) + "'");
    value.split(parts, ',');
    for (StringRef part : parts)
      if (int64_t step; readNumber(part, step))
        schedule.steps.push_back(step);
      else
        return wrong("'steps' has '" + printable(part) + "'; a step is a number from 1 to " + Twine(kMost));
    return Error::success();
  }
  int64_t *field = key == "chunk"    ? &schedule.chunk
                   : key == "piece"  ? &schedule.piece
                   : key == "send"   ? &schedule.send
                   : key == "slices" ? &schedule.slices
                   : key == "return" ? &schedule.back
                                     : nullptr;
  if (!field)
    return wrong("'" + printable(key) + "' is no number of an overlap; these are chunk, order, steps, piece, send, "
                                        "slices, return");
  if (!readNumber(value, *field))
    return wrong("'" + key + "' is a number from 1 to " + Twine(kMost) + ", not '" + printable(value) + "'");
  return Error::success();
}

Expected<Schedule> sim::parseSchedule(StringRef text) {
  text = text.trim();
  if (text.consume_front("<"))
    if (!text.consume_back(">"))
      return wrong("'<' without '>'");
  Schedule schedule;
  SmallVector<StringRef> fields = fieldsOf(text);
  StringRef kind = fields.front();
  if (kind == "plain" && fields.size() == 1)
    return schedule;
  auto [name, count] = kind.split('=');
  if (name.trim() == "parts" && fields.size() == 1) {
    schedule.kind = Schedule::Parts;
    if (!readNumber(count, schedule.parts))
      return wrong("'parts' is a number from 1 to " + Twine(kMost) + ", not '" + printable(count.trim()) + "'");
    return schedule;
  }
  if (kind != "overlap")
    return wrong("'" + printable(text) + "' is not plain, parts = N, or overlap, ..");
  schedule.kind = Schedule::Overlap;
  schedule.piece = schedule.send = schedule.back = 0;
  StringSet<> seen;
  for (StringRef field : ArrayRef(fields).drop_front()) {
    auto [key, value] = field.split('=');
    key = key.trim();
    if (!seen.insert(key).second)
      return wrong("'" + printable(key) + "' stands twice");
    if (Error error = readField(key, value.trim(), schedule))
      return error;
  }
  for (StringRef key : {"chunk", "order", "steps", "slices"})
    if (!seen.contains(key))
      return wrong("an overlap lacks '" + key + "'");
  return schedule;
}

std::string sim::toString(const Schedule &schedule) {
  std::string text;
  raw_string_ostream os(text);
  if (schedule.kind == Schedule::Plain)
    return "plain";
  if (schedule.kind == Schedule::Parts)
    return "parts = " + std::to_string(schedule.parts);
  os << "overlap, chunk = " << schedule.chunk
     << ", order = " << (schedule.order == Schedule::Part ? "part" : "source") << ", steps = [";
  interleaveComma(schedule.steps, os);
  os << "]";
  auto optional = [&](StringRef name, int64_t number) {
    if (number)
      os << ", " << name << " = " << number;
  };
  optional("piece", schedule.piece);
  optional("send", schedule.send);
  os << ", slices = " << schedule.slices;
  optional("return", schedule.back);
  return text;
}

Error sim::checkSchedule(const Schedule &schedule, int64_t ranks, int64_t columnBlocks, int64_t multiprocessors) {
  if (schedule.kind == Schedule::Parts && schedule.parts > kMostParts)
    return wrong("'parts' is " + Twine(schedule.parts) + ", at most " + Twine(kMostParts) + " are simulated");
  if (schedule.kind != Schedule::Overlap)
    return Error::success();
  const int64_t sum = std::accumulate(schedule.steps.begin(), schedule.steps.end(), int64_t(0));
  if (schedule.order == Schedule::Source && sum != ranks)
    return wrong("'steps' has " + Twine(sum) + " sources, there are " + Twine(ranks) + " ranks");
  if (schedule.slices > columnBlocks)
    return wrong("'slices' is " + Twine(schedule.slices) + ", the result has " + Twine(columnBlocks) +
                 " blocks of columns");
  for (auto [key, blocks] : {std::pair("send", schedule.send), std::pair("return", schedule.back)})
    if (multiprocessors && blocks >= multiprocessors)
      return wrong("'" + Twine(key) + "' is " + Twine(blocks) + " of " + Twine(multiprocessors) +
                   " multiprocessors; some have to multiply");
  return Error::success();
}
