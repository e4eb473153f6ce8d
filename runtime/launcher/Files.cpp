//===- Files.cpp - compares the files that a command line reads and writes ----------------------------------------===//
//
// As moe-compile does with its own: no file that is written may be one that is read, or another one that is written.
// This is known before anything runs, and before ranks are started.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Console.h"
#include "Modes.h"
#include "core/OutputFile.h"
#include "core/Variants.h"

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

namespace moert {

namespace {

/// Where a path leads, and the place that it names in a folder: a file that is to be made has only that.
struct Place {
  struct stat file = {}, folder = {};
  bool exists = false, hasFolder = false;
  std::string name;

  Place(const std::string &path, OutputFile::Links links);
  explicit Place(int stream) : exists(fstat(stream, &file) == 0) {}
  bool isSameAs(const Place &other) const;
  /// Pipes and devices are in nobody's way.
  bool isInTheWay() const { return !exists || S_ISREG(file.st_mode) || S_ISLNK(file.st_mode); }
};

struct File {
  std::string what, path; // no path: a stream
  Place place;
  bool isOfCall = false; // an output
};

class FilePlan {
public:
  /// What does not exist is refused by who reads it.
  void reads(const std::string &what, const std::string &path);
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

private:
  static void add(std::vector<File> &files, File file) {
    if (file.place.exists && S_ISREG(file.place.file.st_mode))
      files.push_back(std::move(file));
  }

  Status writes(File file, const char *remedy);

  std::vector<File> inputs, outputs;
};

} // namespace

static bool isSameFile(const struct stat &a, const struct stat &b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

Place::Place(const std::string &path, OutputFile::Links links) {
  exists = (links == OutputFile::Links::Follow ? stat : lstat)(path.c_str(), &file) == 0;
  size_t slash = path.rfind('/');
  std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  hasFolder = stat(parent.c_str(), &folder) == 0;
  name = slash == std::string::npos ? path : path.substr(slash + 1);
}

bool Place::isSameAs(const Place &other) const {
  return (exists && other.exists && isSameFile(file, other.file)) ||
         (hasFolder && other.hasFolder && isSameFile(folder, other.folder) && name == other.name);
}

void FilePlan::reads(const std::string &what, const std::string &path) {
  File file{what, path, Place(path, OutputFile::Links::Follow)};
  auto isThis = [&](const File &other) { return other.place.isSameAs(file.place); };
  auto hasMade = [&](const File &output) { return output.isOfCall && isThis(output); };
  if (std::none_of(outputs.begin(), outputs.end(), hasMade) && std::none_of(inputs.begin(), inputs.end(), isThis))
    add(inputs, std::move(file));
}

static std::string quote(const std::string &path) { return path.empty() ? "" : " '" + path + "'"; }

/// " 'x'", or if the other one is called otherwise: " 'x', which is also 'y',"
static std::string bothNames(const std::string &path, const std::string &other) {
  return path == other || other.empty() ? quote(path) : quote(path) + ", which is also" + quote(other) + ",";
}

Status FilePlan::writes(File file, const char *remedy) {
  if (!file.place.isInTheWay())
    return {};
  for (const File &input : inputs)
    if (file.place.isSameAs(input.place))
      return failure(kUserError, "%s%s would replace %s: %s", file.what.c_str(),
                     bothNames(file.path, input.path).c_str(), input.what.c_str(), remedy);
  for (const File &other : outputs) {
    if (!file.place.isSameAs(other.place))
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
  bool readsInput = options.mode == Mode::Serve || options.wait || options.calls == "-";
  for (const Prompt &prompt : options.prompts)
    readsInput = readsInput || (prompt.file && prompt.value == "-");
  if (readsInput)
    plan.reads("the standard input", 0);
  plan.prints("the standard output", 1);
  plan.prints("the standard error", 2);
}

static Status planCall(const moert_program &program, const Call &call, FilePlan &plan) {
  for (const NamedFile &file : call.inputs)
    plan.reads("input '" + file.name + "'", file.path);
  for (const NamedFile &file : call.expected)
    plan.reads("the expected output '" + file.name + "'", file.path);
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

Status checkFiles(const moert_program &program, const Options &options, const std::string &weights,
                  const char *executable) {
  FilePlan plan;
  plan.reads("the program's archive of weights", weights);
  if (std::strchr(executable, '/')) // else it was found elsewhere
    plan.reads("the executable", executable);
  plan.reads("the executable", "/proc/self/exe");
  if (options.calls != "-")
    plan.reads("the file of calls", options.calls);
  for (const Prompt &prompt : options.prompts)
    if (prompt.file && prompt.value != "-")
      plan.reads("the prompt", prompt.value);
  if (!options.tune && options.variant.empty())
    plan.reads("the dictionary of variants", tuningPath(weights));
  planStreams(options, plan);
  const std::vector<Call> one{options.call};
  for (const Call &call : options.calls.empty() ? one : options.callList)
    if (Status s = planCall(program, call, plan); s.failed())
      return s;
  if (options.tune)
    if (Status s = planStream("the dictionary of variants", tuningPath(weights), "rename the archive", plan);
        s.failed())
      return s;
  if (Status s = planStream("the samples", options.samples, "give --samples another file", plan); s.failed())
    return s;
  return planStream("the trace", options.trace, "give --trace another file", plan);
}

} // namespace moert
