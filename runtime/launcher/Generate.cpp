//===- Generate.cpp - text from a prompt --------------------------------------------------------------------------===//

#include "Console.h"
#include "Modes.h"
#include "Npy.h"
#include "TextStream.h"
#include "core/Trace.h"

#include <algorithm>

namespace moert {

namespace {

/// One prompt's way through the model.
class Generation {
public:
  /// Text goes to `sink`, or to the standard output if there is none.
  Generation(moert_session *session, const moert_program &program, const Options &options, std::string *sink)
      : session(session), program(program), info(*program.generation), options(options), sampler(options.sampling),
        text(options.stops), sink(sink) {}

  Status run(const Prompt &prompt);

private:
  Status encode(const Prompt &prompt);
  Status prefill();
  Status decode();
  Status writeText();
  Status nextToken(int64_t &token);
  Status show(int64_t token);
  Status write(const std::string &bytes);
  bool isEnd(int64_t token) const;
  void report(int64_t prefillTime, int64_t decodeTime) const;

  moert_session *session;
  const moert_program &program;
  const moert_generation &info;
  const Options &options;
  Sampler sampler;
  TextStream text;
  std::string *sink;
  std::vector<int64_t> ids; // of the prompt
  std::vector<float> logits;
  int64_t position = 0; // tokens that the states hold
  int64_t generated = 0;
  std::string reason; // why the text ended
};

} // namespace

Status Generation::encode(const Prompt &prompt) {
  std::string content = prompt.value;
  if (prompt.file) {
    content.clear();
    if (Status s = readAll(prompt.value, kMaxPromptBytes, content); s.failed())
      return s;
  }
  if (options.ids) {
    if (Status s = parseIds(content, ids); s.failed())
      return s;
  } else {
    for (char c : content)
      ids.push_back(static_cast<unsigned char>(c));
  }
  if (ids.empty())
    return failure(kUserError, "the prompt is empty");
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= info.vocab_size)
      return failure(kUserError, "token %zu of the prompt has the id %lld, outside the vocabulary 0..%lld", i,
                     static_cast<long long>(ids[i]), static_cast<long long>(info.vocab_size - 1));
  if (static_cast<int64_t>(ids.size()) > info.cache_length)
    return failure(kUserError, "the prompt has %zu tokens, the model's cache holds %lld", ids.size(),
                   static_cast<long long>(info.cache_length));
  for (int64_t id : ids)
    sampler.note(id);
  return {};
}

Status Generation::prefill() {
  int64_t total = static_cast<int64_t>(ids.size());
  int64_t chunk = options.prefillChunk ? options.prefillChunk : total;
  for (; position < total; position += std::min(chunk, total - position))
    if (Status s = runTokens(session, program, &ids[position], 1, std::min(chunk, total - position), position);
        s.failed())
      return s;
  return {};
}

Status Generation::nextToken(int64_t &token) {
  moert_tensor output;
  if (Status s = sessionStatus(session, moert_session_output(session, info.logits, &output)); s.failed())
    return s;
  // The last position's logits: the only ones, where the program has a choice.
  int64_t vocabulary = info.vocab_size;
  int64_t count = elementCount(output.rank, output.sizes);
  if (count < vocabulary || output.sizes[2] != vocabulary)
    return failure(kInternal, "the program gave %lld logits", static_cast<long long>(count));
  int64_t first = count - vocabulary;
  const float *row = static_cast<const float *>(output.data) + first;
  if (output.dtype != MOERT_F32) {
    logits.resize(static_cast<size_t>(vocabulary));
    for (int64_t i = 0; i < vocabulary; ++i)
      logits[i] = static_cast<float>(elementAsDouble(output.dtype, output.data, first + i));
    row = logits.data();
  }
  return sampler.choose(row, vocabulary, static_cast<uint64_t>(generated), token);
}

bool Generation::isEnd(int64_t token) const {
  for (int32_t i = 0; i < info.eos_count; ++i)
    if (info.eos[i] == token)
      return true;
  return false;
}

Status Generation::write(const std::string &bytes) {
  if (!sink)
    return bytes.empty() ? Status{} : print(bytes);
  *sink += bytes;
  return {};
}

Status Generation::show(int64_t token) {
  if (options.ids)
    return write(format(generated > 1 ? " %lld" : "%lld", static_cast<long long>(token)));
  // A byte vocabulary may have special tokens behind the bytes: they are not text.
  if (token > 255)
    return {};
  return write(text.add(static_cast<char>(token)));
}

Status Generation::decode() {
  while (options.maxNewTokens < 0 || generated < options.maxNewTokens) {
    int64_t token;
    if (Status s = nextToken(token); s.failed())
      return s;
    if (isEnd(token)) {
      reason = format("end-of-sequence token %lld", static_cast<long long>(token));
      return {};
    }
    ++generated;
    sampler.note(token);
    if (Status s = show(token); s.failed())
      return s;
    if (text.stopped()) {
      reason = "--stop string";
      return {};
    }
    if (generated == options.maxNewTokens)
      break;
    if (position == info.cache_length) {
      reason = format("the cache is full (%lld tokens)", static_cast<long long>(info.cache_length));
      return {};
    }
    if (Status s = runTokens(session, program, &token, 1, 1, position++); s.failed())
      return s;
  }
  reason = "--max-new-tokens";
  return {};
}

void Generation::report(int64_t prefillTime, int64_t decodeTime) const {
  auto rate = [](int64_t tokens, int64_t time) { return time > 0 ? static_cast<double>(tokens) * 1e9 / time : 0.0; };
  int64_t prompt = static_cast<int64_t>(ids.size());
  int64_t steps = position - prompt;
  note("stopped after %lld tokens: %s", static_cast<long long>(generated), reason.c_str());
  note("prefill: %lld tokens, %.0f tokens/s; decode: %lld steps, %.1f tokens/s", static_cast<long long>(prompt),
       rate(prompt, prefillTime), static_cast<long long>(steps), rate(steps, decodeTime));
}

Status Generation::writeText() {
  int64_t begin = now();
  if (Status s = prefill(); s.failed())
    return s;
  int64_t middle = now();
  Status status = decode();
  int64_t end = now();
  // What was held back belongs to the text, also when an error cuts it short.
  Status rest = write(text.finish() + (sink ? "" : "\n"));
  if (status.failed())
    return status;
  if (rest.failed())
    return rest;
  if (!sink)
    report(middle - begin, end - middle);
  return {};
}

// A prompt that is refused leaves the states as they were, a text that was begun leaves none to who asked for it.
Status Generation::run(const Prompt &prompt) {
  if (Status s = encode(prompt); s.failed())
    return s;
  moert_session_reset(session);
  Status status = writeText();
  if (sink)
    moert_session_reset(session);
  return status;
}

static Status checkRequest(const moert_program &program, const Options &options) {
  if (Status s = checkGeneration(program, "generate"); s.failed())
    return s;
  if (!options.ids && program.generation->vocabulary != MOERT_VOCAB_BYTES)
    return failure(kUserError, "the model's vocabulary is not bytes: give token ids, with --ids");
  if (options.ids && !options.stops.empty())
    return failure(kUserError, "--stop is a text: it does not go with --ids");
  return {};
}

Status generateText(moert_session *session, const moert_program &program, const Options &options, std::string &text) {
  if (Status s = checkRequest(program, options); s.failed())
    return s;
  return Generation(session, program, options, &text).run(options.prompts[0]);
}

Status generate(moert_session *session, const moert_program &program, const Options &options) {
  if (Status s = checkRequest(program, options); s.failed())
    return s;
  // Every prompt gets the random numbers that it would get alone.
  for (const Prompt &prompt : options.prompts)
    if (Status s = Generation(session, program, options, nullptr).run(prompt); s.failed())
      return s;
  return {};
}

} // namespace moert
