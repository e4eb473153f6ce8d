//===- ScheduleAttr.cpp - syntax and verifier of schedules --------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::moe;

using EmitError = function_ref<InFlightDiagnostic()>;

// More than any layer has, and few enough that products of them are numbers.
static constexpr int64_t most = 1 << 20;

namespace {
/// What the text of a schedule says.
struct Fields {
  ScheduleKind kind = ScheduleKind::Plain;
  RowOrder order = RowOrder::Source;
  SmallVector<int64_t> steps;
  int64_t chunk = 0, piece = 0, send = 0, slices = 0, back = 0, parts = 0;

  /// The number that is called so; null if none is.
  int64_t *number(StringRef key) {
    return key == "chunk"    ? &chunk
           : key == "piece"  ? &piece
           : key == "send"   ? &send
           : key == "slices" ? &slices
           : key == "return" ? &back
                             : nullptr;
  }
};
} // namespace

static ParseResult parseOrder(AsmParser &parser, RowOrder &order) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<RowOrder> known = symbolizeRowOrder(word);
  if (!known)
    return parser.emitError(loc) << "unknown order '" << word << "'; one of source, part";
  order = *known;
  return success();
}

/// `key = value`. A number that stands must be one: 0 would mean that it does not stand.
static ParseResult parseField(AsmParser &parser, Fields &fields, llvm::StringSet<> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef key;
  if (parser.parseKeyword(&key))
    return failure();
  const std::string name = key.str();
  if (!seen.insert(name).second)
    return parser.emitError(loc) << "'" << name << "' stands twice";
  if (parser.parseEqual())
    return failure();
  if (name == "order")
    return parseOrder(parser, fields.order);
  if (name == "steps")
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(fields.steps.emplace_back()); });
  int64_t *number = fields.number(name);
  if (!number)
    return parser.emitError(loc) << "a schedule has no '" << name
                                 << "'; these are chunk, order, steps, piece, send, slices, return";
  if (parser.parseInteger(*number))
    return failure();
  if (*number == 0 && (name == "piece" || name == "send" || name == "return"))
    return parser.emitError(loc) << "'" << name << "' is a number from 1 on; leave it out";
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseLess() || parser.parseKeyword(&word))
    return {};
  std::optional<ScheduleKind> kind = symbolizeScheduleKind(word);
  if (!kind) {
    parser.emitError(loc) << "unknown schedule '" << word << "'; one of plain, parts = N, overlap, ..";
    return {};
  }
  Fields fields;
  fields.kind = *kind;
  llvm::StringSet<> seen;
  if (*kind == ScheduleKind::Parts && (parser.parseEqual() || parser.parseInteger(fields.parts)))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField(parser, fields, seen))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ScheduleAttr>(loc, parser.getContext(), fields.kind, fields.chunk, fields.order,
                                         ArrayRef<int64_t>(fields.steps), fields.piece, fields.send, fields.slices,
                                         fields.back, fields.parts);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyScheduleKind(getKind());
  if (getKind() == ScheduleKind::Parts)
    printer << " = " << getParts();
  if (getKind() == ScheduleKind::Overlap) {
    printer << ", chunk = " << getChunk();
    if (getOrder() != RowOrder::Source)
      printer << ", order = " << stringifyRowOrder(getOrder());
    printer << ", steps = [";
    llvm::interleaveComma(getSteps(), printer);
    printer << "]";
    auto optional = [&](StringRef name, int64_t number) {
      if (number)
        printer << ", " << name << " = " << number;
    };
    optional("piece", getPiece());
    optional("send", getSend());
    printer << ", slices = " << getSlices();
    optional("return", getBack());
  }
  printer << ">";
}

LogicalResult ScheduleAttr::verify(EmitError emitError, ScheduleKind kind, int64_t chunk, RowOrder order,
                                   ArrayRef<int64_t> steps, int64_t piece, int64_t send, int64_t slices, int64_t back,
                                   int64_t parts) {
  if (kind != ScheduleKind::Overlap) {
    if (chunk || order != RowOrder::Source || !steps.empty() || piece || send || slices || back)
      return emitError() << (kind == ScheduleKind::Plain ? "a plain schedule has no numbers"
                                                         : "a schedule in parts has no number but theirs");
    if (kind == ScheduleKind::Parts && (parts < 1 || parts > mostChunks))
      return emitError() << "a schedule needs parts from 1 to " << mostChunks << ", got " << parts;
    return success();
  }
  for (auto [name, number, least] : {std::tuple<StringRef, int64_t, int64_t>{"chunk", chunk, 1},
                                     {"slices", slices, 1},
                                     {"piece", piece, 0},
                                     {"send", send, 0},
                                     {"return", back, 0}})
    if (number < least || number > most)
      return emitError() << "an overlap needs " << name << " from 1 to " << most << ", got " << number;
  if (steps.empty() || llvm::any_of(steps, [&](int64_t step) { return step < 1 || step > most; }))
    return emitError() << "an overlap needs steps, the number of ranks in each of them at least 1";
  if (order == RowOrder::Part && steps.size() > static_cast<size_t>(mostChunks))
    return emitError() << "an overlap by parts has at most " << mostChunks << " steps, got " << steps.size();
  return success();
}

SmallVector<int64_t> ScheduleAttr::getPhases() {
  if (getKind() == ScheduleKind::Parts)
    return SmallVector<int64_t>(getParts(), 1);
  return SmallVector<int64_t>(getSteps());
}
