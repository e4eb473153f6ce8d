//===- Console.cpp - what the compiler says while it works --------------------------------------------------------===//

#include "Console.h"
#include "moe-mlir/Support/TerminalText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace moe_mlir;

Console::Console(ProgressMode mode, bool quiet)
    : quiet(quiet), lines(!quiet && mode != ProgressMode::None),
      live(lines && mode == ProgressMode::Auto && sys::Process::StandardErrIsDisplayed()) {}

Console::~Console() {
  clear();
  errs().clear_error(); // who shows no messages misses no program
}

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
  errs() << "moe-compile: error: " << forTerminal(text.str()) << "\n";
}

void Console::warning(const Twine &text) {
  if (quiet)
    return;
  clear();
  errs() << "moe-compile: warning: " << forTerminal(text.str()) << "\n";
}

void Console::remark(const Twine &text) {
  if (quiet)
    return;
  clear();
  errs() << "moe-compile: remark: " << forTerminal(text.str()) << "\n";
}

void Console::note(const Twine &text) {
  clear();
  errs() << "  note: " << forTerminal(text.str()) << "\n";
}
