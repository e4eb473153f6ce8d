//===- Options.cpp - the executable's command line ----------------------------------------------------------------===//
//
// Parsing, checks and --help, from the table of flags.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Options.h"

#include "Flags.h"
#include "core/Select.h"

#include <algorithm>
#include <cstring>

namespace moert {

static const Flag *findFlag(const std::string &name) {
  for (const Flag &flag : allFlags())
    if (name == flag.name)
      return &flag;
  return nullptr;
}

/// The flag that selects a mode, for messages.
static const char *selector(Mode mode) {
  for (const Flag &flag : allFlags())
    if (flag.mode == mode && flag.selects)
      return flag.name;
  return "";
}

/// Does what the flag says. `chosen` is the one that selected the mode, if one has.
static Status applyFlag(const Flag &flag, const char *value, Options &options, const Flag *&chosen) {
  if (flag.set)
    if (Status s = flag.set(options, value); s.failed())
      return failure(s.code, "--%s: %s", flag.name, s.message.c_str());
  if (!flag.selects)
    return {};
  if (options.mode != Mode::None && options.mode != flag.mode)
    return failure(kUserError, "--%s and --%s exclude each other", flag.name, chosen->name);
  options.mode = flag.mode;
  chosen = chosen ? chosen : &flag;
  return {};
}

/// A --generate that would say nothing was meant to say something, as `--generate $UNSET`.
static Status checkPrompts(const Options &options, bool endsWithoutPrompt) {
  if (!options.missingPrompts)
    return {};
  if (options.prompts.empty())
    return failure(kUserError, "no prompt: give it after --generate, or a file with --prompt-file");
  bool alone = std::all_of(options.prompts.begin(), options.prompts.end(), [](const Prompt &p) { return p.file; });
  if (endsWithoutPrompt || options.missingPrompts > 1 || !alone)
    return failure(kUserError, "a --generate has no prompt: give it one, or leave the flag out");
  return {};
}

/// Flags that say two things of one.
static Status checkPairs(const Options &options) {
  const Call &call = options.call;
  const char *ofCall = !call.inputs.empty()      ? "input"
                       : !call.expected.empty()  ? "expected-output"
                       : !call.outputDir.empty() ? "output-dir"
                                                 : nullptr;
  if (!options.calls.empty() && ofCall)
    return failure(kUserError, "--calls and --%s exclude each other", ofCall);
  if (options.randomWeights && !options.weights.empty())
    return failure(kUserError, "--random-weights and --weights exclude each other");
  // --tune measures each of them.
  const std::vector<NamedSize> &sizes = options.sizes;
  for (auto size = sizes.begin(); size != sizes.end() && !options.tune; ++size)
    if (std::any_of(sizes.begin(), size, [&](const NamedSize &other) { return other.name == size->name; }))
      return failure(kUserError, "--size: '%s' is given twice", printable(size->name.c_str()).c_str());
  return {};
}

Status parseOptions(int argc, const char *const *argv, Options &options) {
  std::vector<const Flag *> given;
  const Flag *chosen = nullptr;
  bool endsWithoutPrompt = false;
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i];
    if (std::strncmp(word, "--", 2) != 0 || !word[2])
      return failure(kUserError, "unexpected argument '%s' (--help lists the flags)", word);
    const char *equals = std::strchr(word, '=');
    std::string name = equals ? std::string(word + 2, equals) : word + 2;
    const Flag *flag = findFlag(name);
    if (!flag)
      return failure(kUserError, "unknown flag '--%s' (--help lists the flags)", name.c_str());
    const char *value = equals ? equals + 1 : nullptr;
    if (!flag->argument && value)
      return failure(kUserError, "--%s takes no value", flag->name);
    if (flag->argument && !value) {
      bool optional = flag->argument[0] == '[';
      bool follows = i + 1 < argc && (!optional || std::strncmp(argv[i + 1], "--", 2) != 0);
      if (follows)
        value = argv[++i];
      else if (!optional)
        return failure(kUserError, "--%s needs a value: %s", flag->name, flag->argument);
      endsWithoutPrompt = optional && i + 1 == argc && !follows;
    }
    if (flag->argument && !flag->repeats && std::find(given.begin(), given.end(), flag) != given.end())
      return failure(kUserError, "--%s is given twice", flag->name);
    if (Status s = applyFlag(*flag, value, options, chosen); s.failed())
      return s;
    given.push_back(flag);
  }
  for (const Flag *flag : given)
    if (flag->mode != Mode::None && flag->mode != options.mode)
      return failure(kUserError, "--%s is used together with --%s only", flag->name, selector(flag->mode));
  if (options.mode == Mode::None && options.verifyWeights)
    options.mode = Mode::Verify;
  if (options.mode == Mode::None)
    return failure(kUserError, "nothing to do (--help shows what is possible)");
  if (Status s = checkPrompts(options, endsWithoutPrompt); s.failed())
    return s;
  return checkPairs(options);
}

/// Breaks text into lines of at most `width` characters, with `indent` spaces before all but the first.
static std::string wrap(const char *text, size_t width, size_t indent) {
  std::string result;
  size_t column = 0;
  while (*text) {
    size_t length = std::strcspn(text, " ");
    if (column && column + 1 + length > width) {
      result += "\n" + std::string(indent, ' ');
      column = 0;
    }
    if (column++)
      result += ' ';
    else
      column = 0;
    result.append(text, length);
    column += length;
    text += length + (text[length] == ' ');
  }
  return result;
}

std::string helpText(const moert_program_list &programs, const std::string &executable) {
  const moert_program &program = *programs.programs[0];
  std::string arrays;
  for (int32_t i = 0; i < program.input_count; ++i) {
    std::string input = printable(program.inputs[i].name);
    arrays += format(" --input %s=@%s.npy \\\n     ", input.c_str(), input.c_str());
  }
  const char *name = executable.c_str();
  std::string text =
      format("%s: a model compiled by moe-compile %s.\n\n", printable(program.name).c_str(), program.compiler);
  if (program.generation)
    text += format("  %s --generate \"Once upon a time\"     continue a text\n"
                   "  %s --generate --prompt-file - < f    continue a file\n",
                   name, name);
  text += format("  %s%s --output-dir out\n"
                 "  %s --benchmark                       measure tokens per second\n"
                 "  %s --info                            what this model is\n",
                 name, arrays.c_str(), name, name);
  if (std::strcmp(programs.programs[0]->entry, programs.programs[programs.count - 1]->entry) != 0)
    text +=
        format("\nIts entries, one of which --entry chooses: %s\n", wrap(entryNames(programs).c_str(), 100, 2).c_str());
  for (const FlagGroup &group : flagGroups()) {
    text += format("\n%s:\n", group.title);
    for (const Flag &flag : allFlags()) {
      bool about = flag.mode == Mode::Help || flag.mode == Mode::Version || flag.mode == Mode::Info ||
                   flag.mode == Mode::DumpSource;
      if (flag.mode != group.mode && !(about && group.mode == Mode::Info))
        continue;
      std::string head = format("  --%s%s%s", flag.name, flag.argument ? " " : "", flag.argument ? flag.argument : "");
      constexpr size_t kColumn = 34;
      head += head.size() < kColumn ? std::string(kColumn - head.size(), ' ') : "\n" + std::string(kColumn, ' ');
      text += head + wrap(flag.help, 100 - kColumn, kColumn) + "\n";
    }
  }
  text += "\nExit codes: 0 fine, 1 wrong input, 2 not supported by this machine, 3 an expected output differs,\n"
          "70 an error of the program itself, 130 ended by Ctrl-C, 143 by SIGTERM.\n";
  return text;
}

} // namespace moert
