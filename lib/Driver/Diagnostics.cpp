//===- Diagnostics.cpp - MLIR's diagnostics on the console --------------------------------------------------------===//

#include "Diagnostics.h"
#include "moe-mlir/Support/Locations.h"
#include "moe-mlir/Support/TerminalText.h"
#include "moe-mlir/Support/UserFault.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace moe_mlir;

std::string moe_mlir::describe(mlir::Location location) {
  LocationParts parts = partsOf(location);
  if (parts.names.empty())
    return parts.place;
  std::string joined = join(parts.names.getArrayRef().take_front(3), ", ");
  return parts.place.empty() ? joined : parts.place + " (" + joined + ")";
}

DiagnosticPrinter::DiagnosticPrinter(mlir::MLIRContext &context, Console &console, bool verbose)
    : context(context), console(console), verbose(verbose) {
  handler = context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) { print(diagnostic); });
}

DiagnosticPrinter::~DiagnosticPrinter() { context.getDiagEngine().eraseHandler(handler); }

bool DiagnosticPrinter::isFromVerifier(mlir::Operation *op) const {
  bool isAmong = false;
  mlir::ScopedDiagnosticHandler collector(&context, [&](mlir::Diagnostic &diagnostic) {
    isAmong |= diagnostic.str() == firstError;
    return mlir::success();
  });
  return failed(mlir::verify(op)) && isAmong;
}

void DiagnosticPrinter::print(mlir::Diagnostic &diagnostic) {
  constexpr unsigned kShown = 8;
  auto withPlace = [](mlir::Diagnostic &d, const std::string &file) {
    std::string place = describe(d.getLocation());
    return place.empty() ? d.str() : file + place + ": " + d.str();
  };
  const bool isWarning = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
  if (!isWarning && diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) {
    if (verbose)
      console.note(withPlace(diagnostic, ""));
    return;
  }
  std::string text = withPlace(diagnostic, model.empty() ? "" : model + ": ");
  if (isWarning) {
    if (!model.empty() && !StringRef(text).starts_with(model))
      text = model + ": " + text;
    if (warnings.size() < kShown && warnings.insert(text).second)
      console.warning(forTerminal(text, /*isName=*/true));
    return;
  }
  if (!errors) {
    firstError = diagnostic.str();
    firstIsUserFault = moe_mlir::isUserFault(diagnostic);
  }
  if (text == lastError || ++errors > kShown)
    return;
  console.error(forTerminal(text, /*isName=*/true)); // one line, whatever names are in it
  // Where a message has no place of its own, the note that prints the whole op says too much for a model's user.
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (verbose || !StringRef(note.str()).starts_with("see current operation"))
      console.note(withPlace(note, ""));
  lastError = std::move(text);
}
