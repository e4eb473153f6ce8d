//===- Tokens.cpp - token ids: as text, and one call on them ------------------------------------------------------===//

#include "Modes.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace moert {

/// The word at `text` for a message: all of it, unless nobody would have typed it.
static std::string quoted(const char *text) {
  constexpr size_t kMost = 64;
  std::string word(text, std::strcspn(text, " \t\r\n,"));
  return "'" + (word.size() <= kMost ? word : word.substr(0, kMost) + "...") + "'";
}

Status parseIds(const std::string &text, std::vector<int64_t> &ids) {
  for (const char *p = text.c_str();;) {
    p += std::strspn(p, " \t\r\n,");
    if (!*p)
      return p == text.c_str() + text.size() ? Status{} : failure(kUserError, "the prompt holds a zero byte");
    char *end;
    errno = 0;
    int64_t id = std::strtoll(p, &end, 10);
    if (end == p || errno || (*end && !std::strchr(" \t\r\n,", *end)))
      return failure(kUserError, "the prompt's %s is no token id", quoted(p).c_str());
    ids.push_back(id);
    p = end;
  }
}

Status sessionStatus(const moert_session *session, int32_t code) {
  return code ? failure(code, "%s", moert_session_error(session)) : Status{};
}

std::string whyNoText(const moert_program &program) {
  if (std::strcmp(program.entry, "main") != 0)
    return format("text comes from the entry 'main' alone: run '%s' with --input", printable(program.entry).c_str());
  if (program.state_count == 0)
    return "the model keeps no cache: export it by python -m moe_mlir export, without --no-cache, or run "
           "it with --input";
  return "the exported file does not name token inputs and vocabulary, or the model has other inputs, too: export it "
         "by "
         "python -m moe_mlir export, without --force-experts, or run it with --input";
}

Status checkGeneration(const moert_program &program, const char *flag) {
  return program.generation ? Status{} : failure(kUserError, "--%s: %s", flag, whyNoText(program).c_str());
}

Status runTokens(moert_session *session, const moert_program &program, const int64_t *tokens, int64_t batch,
                 int64_t length, int64_t position) {
  const moert_generation &generation = *program.generation;
  constexpr int64_t kRows = 64;
  alignas(64) int64_t few[kRows];
  std::vector<int64_t> many;
  int64_t *positions = few;
  if (batch > kRows) {
    many.resize(static_cast<size_t>(batch));
    positions = many.data();
  }
  for (int64_t i = 0; i < batch; ++i)
    positions[i] = position;
  alignas(64) int64_t last = length - 1;
  int64_t tokenSizes[2] = {batch, length}, keepSizes[1] = {1};
  int32_t code = moert_session_set_input(session, generation.tokens, MOERT_I64, 2, tokenSizes, tokens);
  if (!code)
    code = moert_session_set_input(session, generation.position, MOERT_I64, 1, &batch, positions);
  if (!code && generation.keep >= 0)
    code = moert_session_set_input(session, generation.keep, MOERT_I64, 1, keepSizes, &last);
  if (!code)
    code = moert_session_run(session);
  return sessionStatus(session, code);
}

} // namespace moert
