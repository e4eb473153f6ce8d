//===- PlanFiles.cpp - all names that a command line gives to files -----------------------------------------------===//

#include "Compiler.h"

#include "moe-mlir/Simulation/Cluster.h"
#include "moe-mlir/Support/FilePlan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace moe_mlir;

std::string Compiler::outputPath() const {
  if (!options.output.empty())
    return options.output;
  if (options.to)
    return "-";
  StringRef stem = options.input == "-" ? "model" : sys::path::stem(options.input);
  switch (options.emit) {
  case Emit::Library:
    return ("lib" + stem + ".so").str();
  case Emit::Object:
    return (stem + ".o").str();
  case Emit::Executable:
    break;
  }
  return stem.str();
}

std::string Compiler::archivePath(StringRef suffix) const {
  const std::string program = outputPath();
  // Of an object, the archive has the name that a program beside it would have.
  StringRef stem = program;
  if (options.emit == Emit::Object)
    stem.consume_back(".o");
  return (stem + suffix + ".weights").str();
}

std::string Compiler::dumpPath(Level level, StringRef suffix) const {
  SmallString<128> path(options.dumpFolder);
  sys::path::append(path, Twine(static_cast<int>(level)) + "_" + levelName(level) + suffix + ".mlir");
  return path.str().str();
}

int Compiler::planFiles() {
  using Kind = FilePlan::Kind;
  FilePlan plan;
  plan.reads("the input", options.input);
  if (!weights.path().empty())
    plan.reads("the file of weights", weights.path());
  if (!weights.named().empty() && weights.named() != weights.path())
    plan.reads("the file of weights that the module names", weights.named());
  if (StringRef file = sim::clusterFile(options.cluster); !file.empty())
    plan.reads("the description of the cluster", file);
  // The command line has been checked; of `auto` and of a variant, only the fields are alike.
  const std::string divisions = options.parallel + "," + join(options.variants, ",");
  for (StringRef field : split(divisions, ','))
    if (field.consume_front("experts="))
      plan.reads("the file of the experts' order", field);

  const bool hasTwo = !gpu.empty() && input.level < Level::Scheduled; // programs, from level scheduled on
  const StringRef otherName = "choose another name with -o", otherReport = "choose another name with --report";
  if (options.to) {
    plan.writes(Kind::Text, "the IR", outputPath(), otherName);
  } else {
    plan.writes(Kind::File, "the program", outputPath(), otherName);
    plan.writes(Kind::File, "the program's archive of weights", archivePath(""), otherName);
    if (hasTwo)
      plan.writes(Kind::File, "the program's archive of weights for the CPU", archivePath(".cpu"), otherName);
  }
  if (options.report)
    plan.writes(Kind::Text, "the report", *options.report, otherReport);
  if (!options.dumpFolder.empty()) {
    // An edited level may well lie where the dumps go.
    const StringRef remedy = "dump into another folder", orMove = ", or move the input out of this one";
    plan.writes(Kind::Folder, "the folder of intermediates", options.dumpFolder, remedy);
    const Level last = options.to.value_or(Level::Runtime);
    for (Level level : kLevels) {
      if (level < input.level || level > last)
        continue;
      const std::string what = ("the dump of level " + levelName(level)).str();
      plan.writes(Kind::File, what, dumpPath(level, ""), remedy, orMove);
      if (hasTwo && level >= Level::Scheduled)
        plan.writes(Kind::File, what + " for the CPU", dumpPath(level, ".cpu"), remedy, orMove);
    }
  }
  if (Error error = plan.check())
    return fail(std::move(error));
  return kOk;
}
