//===- Reuse.cpp - windows that every pass of a loop writes again -------------------------------------------------===//

#include "Reuse.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether step `read` of a pass tells of `read`, and whoever writes in step `write`, counted on through later passes,
/// has awaited it in an earlier step.
static bool areApart(ArrayRef<WindowStep> pass, const WindowStep::Read &read, size_t reading, size_t writing) {
  SmallVector<unsigned> told(read.told); // flags that are raised behind the read
  for (size_t step = reading; step < writing; ++step) {
    const WindowStep &each = pass[step % pass.size()];
    // Flags of a step may be raised before others of its launches are done; those of earlier ones are not.
    if (step > reading)
      llvm::append_range(told, each.signals);
    if (llvm::any_of(each.awaits, [&](unsigned flags) { return llvm::is_contained(told, flags); }))
      return true;
  }
  return false;
}

std::optional<WindowStep::Read> kernel::findUnsafeReuse(ArrayRef<WindowStep> pass) {
  for (auto [reading, step] : llvm::enumerate(pass))
    for (const WindowStep::Read &read : step.reads)
      for (auto [writing, other] : llvm::enumerate(pass))
        for (const WindowStep::Write &write : other.writes)
          if (write.window == read.window &&
              !areApart(pass, read, reading, writing + pass.size() * (read.byEpoch && write.byEpoch ? 2 : 1)))
            return read;
  return std::nullopt;
}
