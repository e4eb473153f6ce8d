//===- FilePlan.cpp - compares the files that a run reads and writes ----------------------------------------------===//

#include "moe-mlir/Support/FilePlan.h"

#include "llvm/Support/Path.h"

#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

void FilePlan::reads(StringRef what, StringRef path) {
  inputs.push_back({what.str(), path.str(), Place::of(path, STDIN_FILENO)});
}

void FilePlan::writes(Kind kind, StringRef what, StringRef path, StringRef remedy, StringRef orIfInput) {
  outputs.push_back({{what.str(), path.str(), Place::of(path, STDOUT_FILENO)}, kind, remedy.str(), orIfInput.str()});
}

static std::string quote(StringRef path) { return path == "-" ? "" : (" '" + path + "'").str(); }

/// "'x'", or if the other one is called otherwise: "'x', which is also 'y',"
static std::string bothNames(StringRef path, StringRef other) {
  if (path == other || other == "-")
    return quote(path);
  return quote(path) + ", which is also" + quote(other) + ",";
}

Error FilePlan::checkKind(const Output &output) {
  auto cannot = [&](const Twine &why) { return createStringError("cannot write '" + output.path + "': " + why); };
  const Place &place = output.place;
  if (place.isDescriptor)
    return output.kind == Kind::Text ? Error::success() : cannot("it is an open stream, not an ordinary file");
  if (output.kind == Kind::Folder || !place.exists() || place.isRegular())
    return Error::success();
  if (place.isFolder())
    return cannot("it is a folder");
  if (output.kind == Kind::Text && place.type == sys::fs::file_type::character_file)
    return Error::success();
  return cannot("it is not an ordinary file");
}

/// The folder of an output stands there, or is made for another output.
Error FilePlan::checkFolder(const Output &output) const {
  if (output.place.isDescriptor)
    return Error::success();
  if (output.kind == Kind::Folder) {
    // What does not exist yet is made; what stands in the way cannot be.
    for (StringRef folder = output.path; !folder.empty(); folder = sys::path::parent_path(folder)) {
      sys::fs::file_status status;
      if (sys::fs::status(folder, status))
        continue;
      if (status.type() == sys::fs::file_type::directory_file)
        return Error::success();
      return createStringError("cannot create folder '" + output.path +
                               "': " + (folder == output.path ? "" : "'" + folder.str() + "': ") + "Not a directory");
    }
    return Error::success();
  }
  StringRef parent = sys::path::parent_path(output.path);
  if (parent.empty() || sys::fs::is_directory(parent))
    return Error::success();
  for (const Output &other : outputs)
    if (other.kind == Kind::Folder && output.place.liesIn(other.place))
      return Error::success();
  return createStringError("cannot write '" + output.path + "': there is no folder '" + parent + "'");
}

/// Two texts on a device such as /dev/null are in nobody's way.
static bool isDevice(const Place &place) { return place.type == sys::fs::file_type::character_file; }

Error FilePlan::checkNames() const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output &output = outputs[i];
    for (const File &input : inputs)
      if (output.place.isSameAs(input.place) && input.place.isRegular())
        return createStringError(output.what + bothNames(output.path, input.path) + " would replace " + input.what +
                                 ": " + output.remedy + output.orIfInput);
    for (const Output &other : ArrayRef(outputs).take_front(i))
      if (output.place.isSameAs(other.place) && !isDevice(output.place))
        return createStringError(output.what + quote(output.path) + " and " + other.what + quote(other.path) +
                                 " would be one file: " + output.remedy);
  }
  return Error::success();
}

Error FilePlan::check() const {
  for (const Output &output : outputs)
    if (output.kind == Kind::Folder)
      if (Error error = checkFolder(output))
        return error;
  if (Error error = checkNames())
    return error;
  for (const Output &output : outputs) {
    if (Error error = checkKind(output))
      return error;
    if (Error error = checkFolder(output))
      return error;
  }
  return Error::success();
}
