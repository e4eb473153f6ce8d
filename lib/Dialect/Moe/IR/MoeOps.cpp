//===- MoeOps.cpp - generated part of the moe ops and their keywords ----------------------------------------------===//
//
// Verifiers, folders and patterns are in the files of the op families.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/BodyFormat.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::moe;
using moe_mlir::parseBody, moe_mlir::printBody;

/// Parses one keyword of an enumeration; a wrong one is answered with the list of the right ones.
template <typename Enum, typename EnumAttr>
static ParseResult parseKeywordAttr(OpAsmParser &parser, EnumAttr &attr, std::optional<Enum> (*symbolize)(StringRef),
                                    StringRef what, StringRef choices) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Enum> value = symbolize(keyword);
  if (!value)
    return parser.emitError(loc, "unknown ") << what << " '" << keyword << "'; one of " << choices;
  attr = EnumAttr::get(parser.getContext(), *value);
  return success();
}

static ParseResult parseScore(OpAsmParser &parser, ScoreAttr &attr) {
  return parseKeywordAttr<Score>(parser, attr, symbolizeScore, "score function",
                                 "softmax, softmax_after, sigmoid, sigmoid_after, sqrt_softplus, sparsemixer");
}

static void printScore(OpAsmPrinter &printer, Operation *, ScoreAttr attr) {
  printer << stringifyScore(attr.getValue());
}

static ParseResult parseRenormalize(OpAsmParser &parser, RenormalizeAttr &attr) {
  return parseKeywordAttr<Renormalize>(parser, attr, symbolizeRenormalize, "renormalisation",
                                       "none, sum, before, after, pnorm");
}

static void printRenormalize(OpAsmPrinter &printer, Operation *, RenormalizeAttr attr) {
  printer << stringifyRenormalize(attr.getValue());
}

static ParseResult parsePlacement(OpAsmParser &parser, PlacementAttr &attr) {
  return parseKeywordAttr<Placement>(parser, attr, symbolizePlacement, "placement", "gathered, in_place, apart");
}

static void printPlacement(OpAsmPrinter &printer, Operation *, PlacementAttr attr) {
  printer << stringifyPlacement(attr.getValue());
}

static ParseResult parseVia(OpAsmParser &parser, ViaAttr &attr) {
  return parseKeywordAttr<Via>(parser, attr, symbolizeVia, "way to other ranks", "direct");
}

static void printVia(OpAsmPrinter &printer, Operation *, ViaAttr attr) { printer << stringifyVia(attr.getValue()); }

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeOps.cpp.inc"
