//===- PtxasLog.cpp - what ptxas says of a kernel's code ----------------------------------------------------------===//

#include "moe-mlir/Target/Nvrtc.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace moe_mlir;

static int number(StringRef text) {
  int value = 0;
  (void)text.getAsInteger(10, value);
  return value;
}

void moe_mlir::readLog(StringRef kernel, Cubin &cubin) {
  // C7500 to C7599 are about wgmma and setmaxnreg: products in a row instead of at once, registers not redistributed.
  static const Regex remark("\\(C75[0-9][0-9]\\).*"), used("Used ([0-9]+) registers"),
      frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  const std::string of = ("kernel '" + kernel + "'").str();
  SmallVector<StringRef> lines, match;
  StringRef(cubin.log).split(lines, '\n', -1, /*KeepEmpty=*/false);
  cubin.registers = cubin.spillBytes = cubin.stackBytes = 0;
  cubin.warnings.clear();
  for (StringRef line : lines) {
    if (used.match(line, &match))
      cubin.registers = std::max(cubin.registers, number(match[1]));
    if (frame.match(line, &match)) {
      cubin.stackBytes += number(match[1]);
      cubin.spillBytes += number(match[2]) + number(match[3]);
    }
    if (remark.match(line, &match))
      cubin.warnings.push_back(of + ": ptxas " + match[0].rtrim().str());
  }
  if (cubin.spillBytes)
    cubin.warnings.push_back(of + " spills registers: " + std::to_string(cubin.spillBytes) +
                             " bytes of stores and loads");
}
