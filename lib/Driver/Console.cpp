//===- Console.cpp - what the compiler says while it works --------------------------------------------------------===//

#include "Console.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace moe_mlir;

Console::Console(ProgressMode mode, bool quiet)
    : quiet(quiet), lines(!quiet && mode != ProgressMode::None),
      live(lines && mode == ProgressMode::Auto && sys::Process::StandardErrIsDisplayed()) {}

Console::~Console() { clear(); }

void Console::clear() {
  if (live)
    errs() << "\r\033[K";
}

static double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// "[2/9]"; the total is unknown while the input is read.
std::string Console::number() const {
  return "[" + std::to_string(current) + "/" + (phases ? std::to_string(phases) : "?") + "]";
}

void Console::begin(std::string name) {
  phase = std::move(name);
  phaseStart = Clock::now();
  shown = ~0u;
  ++current;
  if (live)
    errs() << number() << "           " << phase << " ...";
}

void Console::update(unsigned percent) {
  if (!live || percent == shown)
    return;
  shown = percent;
  clear();
  errs() << number() << "           " << phase << " ... " << percent << " %";
}

void Console::end() {
  clear();
  if (lines)
    errs() << number() << format(" %7.2f s ", seconds(Clock::now() - phaseStart)) << phase << "\n";
}

void Console::finish(const Twine &what) {
  if (lines)
    errs() << format("      %7.2f s ", seconds(Clock::now() - start)) << what << "\n";
}

void Console::error(const Twine &text) {
  clear();
  errs() << "moe-compile: error: " << text << "\n";
}

void Console::warning(const Twine &text) {
  if (quiet)
    return;
  clear();
  errs() << "moe-compile: warning: " << text << "\n";
}

void Console::note(const Twine &text) {
  clear();
  errs() << "  note: " << text << "\n";
}

/// Collects the parts of a location: the first place in a file, and all names.
static void collect(mlir::Location location, std::string &place, SetVector<StringRef> &names) {
  if (auto file = dyn_cast<mlir::FileLineColLoc>(location)) {
    if (place.empty())
      place = file.getFilename().str() + ":" + std::to_string(file.getLine());
  } else if (auto name = dyn_cast<mlir::NameLoc>(location)) {
    names.insert(name.getName().getValue());
    collect(name.getChildLoc(), place, names);
  } else if (auto call = dyn_cast<mlir::CallSiteLoc>(location)) {
    collect(call.getCallee(), place, names);
    collect(call.getCaller(), place, names);
  } else if (auto fused = dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      collect(part, place, names);
  }
}

std::string moe_mlir::describe(mlir::Location location) {
  std::string place;
  SetVector<StringRef> names;
  collect(location, place, names);
  if (names.empty())
    return place;
  std::string joined = join(names.getArrayRef().take_front(3), ", ");
  return place.empty() ? joined : place + " (" + joined + ")";
}

DiagnosticPrinter::DiagnosticPrinter(mlir::MLIRContext &context, Console &console, bool verbose)
    : context(context), console(console), verbose(verbose) {
  handler = context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) { print(diagnostic); });
}

DiagnosticPrinter::~DiagnosticPrinter() { context.getDiagEngine().eraseHandler(handler); }

void DiagnosticPrinter::print(mlir::Diagnostic &diagnostic) {
  constexpr unsigned kShown = 8;
  auto withPlace = [](mlir::Diagnostic &d) {
    std::string place = describe(d.getLocation());
    return place.empty() ? d.str() : place + ": " + d.str();
  };
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) {
    if (verbose)
      console.note(withPlace(diagnostic));
    return;
  }
  std::string text = withPlace(diagnostic);
  if (text == lastError || ++errors > kShown)
    return;
  console.error(text);
  // Where a message has no place of its own, the note that prints the whole op says too much for a model's user.
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    if (verbose || !StringRef(note.str()).starts_with("see current operation"))
      console.note(withPlace(note));
  lastError = std::move(text);
}
