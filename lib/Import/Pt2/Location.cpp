//===- Location.cpp - source locations of graph nodes -------------------------------------------------------------===//

#include "Location.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace llvm;

/// Frames look like `File "PATH", line N, in FUNCTION`; the innermost comes last. torch's own modules
/// (`torch/nn/modules/linear.py`) say nothing about the model, so the last frame outside of them is preferred.
static std::pair<StringRef, unsigned> findFrame(StringRef trace) {
  std::pair<StringRef, unsigned> own, any;
  while (true) {
    size_t at = trace.find("File \"");
    if (at == StringRef::npos)
      break;
    trace = trace.drop_front(at + 6);
    auto [file, rest] = trace.split('"');
    unsigned line = 0;
    if (!rest.consume_front(", line ") || rest.consumeInteger(10, line))
      continue;
    trace = rest;
    any = {file, line};
    if (!file.contains("/torch/") && !file.starts_with("torch/"))
      own = any;
  }
  return own.first.empty() ? any : own;
}

/// A file by the name that it has on every machine: from its package on, or without any folder. Where the model was
/// exported helps nobody who reads a message, and would make the program depend on it.
static StringRef shorten(StringRef file) {
  for (StringRef packages : {"/site-packages/", "/dist-packages/"})
    if (size_t at = file.rfind(packages); at != StringRef::npos)
      return file.drop_front(at + packages.size());
  return file.starts_with("/") ? file.rsplit('/').second : file;
}

/// `key,path,class;key,path,class;...`: the path of the innermost module.
static StringRef findModule(StringRef stack) {
  StringRef innermost = stack.rsplit(';').second;
  if (innermost.empty())
    innermost = stack;
  StringRef path = innermost.split(',').second.split(',').first;
  return path.starts_with("_empty_nn_module_stack") ? StringRef() : path;
}

mlir::Location moe_mlir::pt2::getNodeLocation(mlir::MLIRContext *context, const JsonObject *metadata,
                                              StringRef nodeName) {
  StringRef trace, stack;
  if (metadata) {
    trace = metadata->getString("stack_trace").value_or("");
    stack = metadata->getString("nn_module_stack").value_or("");
  }
  StringRef name = findModule(stack);
  auto [file, line] = findFrame(trace);
  mlir::Location inner = mlir::UnknownLoc::get(context);
  if (!file.empty())
    inner = mlir::FileLineColLoc::get(context, shorten(file), line, 1);
  // The module of the model around the node, the node around its line.
  for (StringRef outer : {nodeName, name})
    if (!outer.empty())
      inner = mlir::NameLoc::get(mlir::StringAttr::get(context, outer), inner);
  return inner;
}
