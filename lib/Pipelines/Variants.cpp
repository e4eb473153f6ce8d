//===- Variants.cpp - the texts of variants -----------------------------------------------------------------------===//

#include "moe-mlir/Pipelines/Variants.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace moe_mlir;
namespace moe = mlir::moe;

/// Null with a message in `error`, that of the parser.
static moe::ScheduleAttr parseSchedule(mlir::MLIRContext *context, StringRef text, std::string &error) {
  mlir::ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return mlir::success();
  });
  // The name that the parser wants is not the user's to write.
  const std::string whole = ("#moe.schedule" + text).str();
  return dyn_cast_or_null<moe::ScheduleAttr>(mlir::parseAttribute(whole, context));
}

/// Takes "schedule=<..>" out of the fields of `text`.
static std::string takeSchedule(StringRef &text, std::string &rest, std::string &error) {
  const size_t at = text.find("schedule=");
  if (at == StringRef::npos || (at && text[at - 1] != ','))
    return "";
  const size_t begin = at + StringRef("schedule=").size(), end = text.find('>', begin);
  if (!text.substr(begin).starts_with("<") || end == StringRef::npos) {
    error = "schedule must be as in schedule=<overlap, chunk = 64, steps = [1, 1], slices = 2>";
    return "";
  }
  StringRef before = text.take_front(at), behind = text.drop_front(end + 1);
  if (!behind.empty() && !behind.consume_front(",")) {
    error = ("expected a comma behind the schedule, got '" + behind + "'").str();
    return "";
  }
  if (behind.empty())
    before.consume_back(",");
  rest = (before + behind).str();
  const std::string schedule = text.slice(begin, end + 1).str();
  text = rest;
  return schedule;
}

static std::optional<VariantSpec> parseVariant(mlir::MLIRContext *context, StringRef text, std::string &error) {
  VariantSpec spec;
  spec.name = text.str();
  std::string rest;
  // It is an option in the text of a pipeline, and a name in files.
  if (text.find_first_of("\"'{}\\") != StringRef::npos || !all_of(text, isPrint)) {
    error = "a variant is one line of ASCII, without quotes, braces and backslashes";
    return std::nullopt;
  }
  const std::string schedule = takeSchedule(text, rest, error);
  if (error.empty() && !schedule.empty() && (text.starts_with("schedule=") || text.contains(",schedule=")))
    error = "schedule is given twice";
  if (!error.empty())
    return std::nullopt;
  std::optional<ParallelSpec> parallel = parseParallel(text, error);
  if (!parallel)
    return std::nullopt;
  spec.parallel = *parallel;
  if (spec.parallel.tensors > 1) {
    error = "tp cuts weights and caches, and variants share one archive of whole weights and the states; use it "
            "without --variant";
    return std::nullopt;
  }
  if (schedule.empty())
    return spec;
  if (spec.parallel.ranks == 1 || spec.parallel.tokens == ParallelSpec::Tokens::Replicated) {
    error = "a schedule is for layers whose tokens travel: ep=2 or more, with tokens=split";
    return std::nullopt;
  }
  if (spec.schedule = parseSchedule(context, schedule, error); !spec.schedule)
    return std::nullopt;
  return spec;
}

/// Nothing, or why these are no variants of one program.
static std::string whyNotTogether(ArrayRef<VariantSpec> specs) {
  const VariantSpec &first = specs.front();
  if (first.ranks() == 1)
    return "variants are ways to divide a program among ranks, and '" + first.name + "' has one";
  int64_t grids = 0;
  for (auto [number, spec] : enumerate(specs)) {
    if (spec.ranks() != first.ranks())
      return "'" + spec.name + "' has " + std::to_string(spec.ranks()) + " ranks and '" + first.name + "' has " +
             std::to_string(first.ranks()) + "; all variants run on the same ranks";
    for (const VariantSpec &other : specs.take_front(number))
      if (other.name == spec.name)
        return "'" + spec.name + "' is given twice";
    grids += (spec.parallel.copies > 1) + (spec.parallel.ranks > 1) + (spec.parallel.slices > 1) +
             2 * spec.parallel.isNested();
  }
  if (grids > kMostGrids)
    return "they have " + std::to_string(grids) + " grids, one for each dp, ep and etp above 1, and two more for nodes; at most " +
           std::to_string(kMostGrids) + " are possible";
  return "";
}

std::optional<std::vector<VariantSpec>> moe_mlir::parseVariants(mlir::MLIRContext *context, StringRef parallel,
                                                                StringRef others, std::string &error) {
  SmallVector<StringRef> texts = {parallel};
  others.split(texts, ';');
  std::vector<VariantSpec> specs;
  for (StringRef text : texts) {
    std::optional<VariantSpec> spec = parseVariant(context, text, error);
    if (spec && !specs.empty())
      error = inheritNumbers(spec->parallel, specs.front().parallel);
    if (!spec || !error.empty()) {
      error = "'" + (all_of(text, isPrint) ? text.str() : printablePath(text)) + "': " + error;
      return std::nullopt;
    }
    specs.push_back(std::move(*spec));
  }
  error = whyNotTogether(specs);
  return error.empty() ? std::optional(std::move(specs)) : std::nullopt;
}
