//===- NoUcx.cpp - in place of UcxWire.cpp, where there were no headers of UCX ------------------------------------===//

#include "comm/Wire.h"

namespace moert {

Status makeUcxWire(std::unique_ptr<Wire> &) {
  return failure(kUnsupported, "ranks are on several hosts, and this program was made by a build without UCX: install "
                               "libucx-dev where moe-compile is built, and build it again");
}

} // namespace moert
