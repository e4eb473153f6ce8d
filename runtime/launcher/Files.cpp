//===- Files.cpp - compares the files that a command line reads and writes ----------------------------------------===//
//
// As moe-compile does with its own: no file that is written may be one that is read, or another one that is written.
// This is known before anything runs, and before ranks are started.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Console.h"
#include "Modes.h"
#include "core/Place.h"
#include "core/Variants.h"

#include <algorithm>
#include <cstring>

namespace moert {

namespace {

struct File {
  std::string what, path; // no path: a stream
  Place place;
  bool isOfCall = false; // its input or output

  /// Also of a folder that is not there yet.
  bool isSameAs(const File &other) const {
    return place.isSameAs(other.place) || (!path.empty() && path == other.path);
  }
};

class FilePlan {
public:
  /// What does not exist is refused by who reads it, unless `isOfCall`: then the call's own output could be it.
  void reads(const std::string &what, const std::string &path, bool isOfCall = false);
  void reads(const char *what, int stream) { add(inputs, {what, "", Place(stream)}); }
  void prints(const char *what, int stream) { add(outputs, {what, "", Place(stream)}); }
  /// A file that the user names.
  Status writes(const char *what, const std::string &path, const char *remedy) {
    return writes({what, path, Place(path, OutputFile::Links::Follow)}, remedy);
  }
  /// A file in a folder of outputs. Another call may write it again, and later ones may read it.
  Status writesOfCall(const std::string &path) {
    return writes({"the output", path, Place(path, OutputFile::Links::Replace), true},
                  "give --output-dir another folder");
  }
  /// A file of --dump-source. There it is replaced, too, if it is a link.
  Status writesSource(const std::string &path) {
    return writes({"the source", path, Place(path, OutputFile::Links::Replace)}, "give --dump-source another folder");
  }

private:
  static void add(std::vector<File> &files, File file) {
    if (file.place.exists ? S_ISREG(file.place.file.st_mode) : file.isOfCall)
      files.push_back(std::move(file));
  }

  Status writes(File file, const char *remedy);

  std::vector<File> inputs, outputs;
};

} // namespace

void FilePlan::reads(const std::string &what, const std::string &path, bool isOfCall) {
  File file{what, path, Place(path, OutputFile::Links::Follow), isOfCall};
  auto isThis = [&](const File &other) { return other.isSameAs(file); };
  auto hasMade = [&](const File &output) { return output.isOfCall && isThis(output); };
  if (std::none_of(outputs.begin(), outputs.end(), hasMade) && std::none_of(inputs.begin(), inputs.end(), isThis))
    add(inputs, std::move(file));
}

static std::string quote(const std::string &path) { return path.empty() ? "" : " '" + path + "'"; }

Status FilePlan::writes(File file, const char *remedy) {
  if (!file.place.isInTheWay())
    return {};
  for (const File &input : inputs)
    if (file.isSameAs(input))
      return failure(kUserError, "%s%s would replace %s: %s", file.what.c_str(),
                     bothNames(file.path, input.path).c_str(), input.what.c_str(), remedy);
  for (const File &other : outputs) {
    if (!file.isSameAs(other))
      continue;
    if (file.isOfCall && other.isOfCall)
      return {};
    return failure(kUserError, "%s%s and %s%s would be one file: %s", file.what.c_str(), quote(file.path).c_str(),
                   other.what.c_str(), quote(other.path).c_str(), remedy);
  }
  outputs.push_back(std::move(file));
  return {};
}

static void planStreams(const Options &options, FilePlan &plan) {
  bool readsInput = options.mode == Mode::Serve || options.wait || options.calls == "-" || options.hosts == "-";
  for (const Prompt &prompt : options.prompts)
    readsInput = readsInput || (prompt.file && prompt.value == "-");
  if (readsInput)
    plan.reads("the standard input", 0);
  plan.prints("the standard output", 1);
  plan.prints("the standard error", 2);
}

static Status planCall(const moert_program &program, const Call &call, FilePlan &plan) {
  for (const NamedFile &file : call.inputs)
    plan.reads("input '" + file.name + "'", file.path, /*isOfCall=*/true);
  for (const NamedFile &file : call.expected)
    plan.reads("the expected output '" + file.name + "'", file.path, /*isOfCall=*/true);
  for (int32_t i = 0; i < program.output_count && !call.outputDir.empty(); ++i)
    if (Status s = plan.writesOfCall(outputPath(call.outputDir, program.outputs[i])); s.failed())
      return s;
  return {};
}

static Status planStream(const char *what, const std::string &path, const char *remedy, FilePlan &plan) {
  if (path.empty())
    return {};
  if (Status s = plan.writes(what, path, remedy); s.failed())
    return s;
  SignalsHeld held; // the check makes a file and removes it
  return OutputFile::checkStream(path);
}

/// The dictionary of --tune is read, too, and gets its name when it is complete: it is a file.
static Status planDictionary(const std::string &path, FilePlan &plan) {
  if (path.empty())
    return {};
  if (Status s = plan.writes("the dictionary of variants", path, "rename the archive"); s.failed())
    return s;
  SignalsHeld held; // the check makes a file and removes it
  OutputFile file;
  return file.open(path);
}

static void planProgram(const std::string &weights, const char *executable, FilePlan &plan) {
  if (!weights.empty())
    plan.reads("the program's archive of weights", weights);
  if (std::strchr(executable, '/')) // else it was found elsewhere
    plan.reads("the executable", executable);
  plan.reads("the executable", "/proc/self/exe");
}

Status checkSources(const moert_program &program, const std::string &dir, const std::string &weights,
                    const char *executable) {
  FilePlan plan;
  planProgram(weights, executable, plan);
  plan.prints("the standard output", 1);
  plan.prints("the standard error", 2);
  for (const std::string &path : sourcePaths(program, dir))
    if (Status s = plan.writesSource(path); s.failed())
      return s;
  return {};
}

Status checkFiles(const moert_program &program, const Options &options, const std::string &weights,
                  const char *executable) {
  FilePlan plan;
  planProgram(weights, executable, plan);
  if (options.calls != "-")
    plan.reads("the file of calls", options.calls);
  if (options.hosts != "-")
    plan.reads("the file of hosts", options.hosts);
  for (const Prompt &prompt : options.prompts)
    if (prompt.file && prompt.value != "-")
      plan.reads("the prompt", prompt.value);
  if (!options.tune) // with --variant, the next run reads it
    plan.reads("the dictionary of variants", tuningPath(weights));
  planStreams(options, plan);
  const std::vector<Call> one{options.call};
  for (const Call &call : options.calls.empty() ? one : options.callList)
    if (Status s = planCall(program, call, plan); s.failed())
      return s;
  if (options.tune)
    if (Status s = planDictionary(tuningPath(weights), plan); s.failed())
      return s;
  if (Status s = planStream("the samples", options.samples, "give --samples another file", plan); s.failed())
    return s;
  return planStream("the trace", options.trace, "give --trace another file", plan);
}

} // namespace moert
