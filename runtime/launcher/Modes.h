//===- Modes.h - what the executable can do with an open session --------------------------------------------------===//
#ifndef MOERT_LAUNCHER_MODES_H
#define MOERT_LAUNCHER_MODES_H

#include "Npy.h"
#include "Options.h"
#include "moert/session.h"

namespace moert {

/// What is read at most.
constexpr size_t kMaxPromptBytes = size_t(1) << 28, kMaxCallsBytes = size_t(1) << 26;

/// Continues each prompt, from fresh states.
Status generate(moert_session *session, const moert_program &program, const Options &options);

/// Runs the program on arrays from files: one call, or those of a --calls file.
Status runTensors(moert_session *session, const moert_program &program, const Options &options);

/// Reads what --calls describes, if it is given: into `options.callList`.
Status readCalls(Options &options);

/// Where an output is written in a folder of outputs.
std::string outputPath(const std::string &dir, const moert_value &output);

/// Refuses to write what is also read, or twice into one file, and what cannot be written at all. Nothing has run yet.
Status checkFiles(const moert_program &program, const Options &options, const std::string &weights,
                  const char *executable);

/// Times prefill and decode on random tokens; without generation info, or with sizes, calls on random inputs.
Status benchmark(moert_session *session, const moert_program &program, const Options &options);
Status benchmarkCalls(moert_session *session, const moert_program &program, const Options &options);

/// Times calls on random inputs with each variant of the program, and writes the dictionary at `path`.
Status tune(moert_session *session, const moert_program &program, const Options &options, const std::string &path);

/// The variants of a program, for --info; nothing if it has none.
std::string variantTable(const moert_program_list &programs, const moert_program &program);

/// Takes the variant of that name or number from here on.
Status setVariant(moert_session *session, const std::string &name);

/// Answers requests on the standard input until it ends.
Status serve(moert_session *session, const moert_program &program);

/// Continues the one prompt of `options`, from zeroed states: what generate() prints, without the line feed at the end.
Status generateText(moert_session *session, const moert_program &program, const Options &options, std::string &text);

/// Names of values, for messages: "'x', 'scale'".
std::string valueNames(const moert_value *values, int32_t count);

/// The texts of --info for one program, and of --version.
std::string infoText(const moert_program &program, const std::string &weights);
std::string versionText(const moert_program &program);

/// The kernels, for --info --kernels.
std::string kernelTable(const moert_program &program);

/// Where --dump-source writes the files of a CUDA program: none of any other.
std::vector<std::string> sourcePaths(const moert_program &program, const std::string &dir);

/// Like checkFiles(), for these.
Status checkSources(const moert_program &program, const std::string &dir, const std::string &weights,
                    const char *executable);

/// Writes source, machine code and device library of a CUDA program into a folder.
Status dumpSource(const moert_program &program, const std::string &dir);

/// The failure that the session reports, or success for code 0.
Status sessionStatus(const moert_session *session, int32_t code);

/// Reads the token ids of a prompt: decimal numbers between blanks or commas.
Status parseIds(const std::string &text, std::vector<int64_t> &ids);

/// Runs the program on `batch` rows of `length` tokens at `position`, wanting logits of the last position only.
Status runTokens(moert_session *session, const moert_program &program, const int64_t *tokens, int64_t batch,
                 int64_t length, int64_t position);

/// Why a program without generation info has none, and what to do.
std::string whyNoText(const moert_program &program);

/// The error for such programs; `flag` needs the info.
Status checkGeneration(const moert_program &program, const char *flag);

} // namespace moert

#endif // MOERT_LAUNCHER_MODES_H
