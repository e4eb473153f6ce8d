//===- Serve.cpp - answers to the requests of another program -----------------------------------------------------===//
//
// docs/Executable.md describes the messages. A request that cannot be answered is answered by an error, and the next
// one is read; only input that is no request at all ends the process, and an error after which ranks are not together.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Console.h"
#include "Messages.h"
#include "Modes.h"
#include "core/Session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace moert {

namespace {

class Server {
public:
  Server(moert_session *session, const moert_program &program)
      : session(session), program(program), requests(standardInput()) {}
  ~Server() {
    if (answers >= 0)
      close(answers);
  }
  Status serve();

private:
  Status takeOutput();
  Status announce();
  Status answer(const Words &request, bool &isLast);
  Status run(const Words &request, std::vector<moert_tensor> &outputs);
  Status generate(const Words &request, std::string &text);

  moert_session *session;
  const moert_program &program;
  MessageReader requests;
  int answers = -1;
  std::vector<Tensor> inputs; // of the last call
};

} // namespace

/// Keeps the standard output for answers: whatever else prints goes to the standard error.
Status Server::takeOutput() {
  if (!isHeard()) {
    answers = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return {};
  }
  if (isatty(standardInput()) || isatty(1))
    return failure(kUserError, "--serve is for programs: the standard input and output have to be pipes");
  answers = fcntl(1, F_DUPFD_CLOEXEC, 3);
  if (answers < 0 || dup2(2, 1) < 0)
    return failure(kUserError, "cannot use the standard output: %s", strerror(errno));
  return {};
}

/// Blanks separate sizes: a name with blanks, or one that could be a number, stands in double quotes, with its own
/// doubled.
static std::string inQuotes(const std::string &name) {
  const bool isPlain = name.find_first_of(" \t\n\v\f\r\"") == std::string::npos;
  if (isPlain && name.find_first_not_of("0123456789") != std::string::npos)
    return name;
  std::string text = "\"";
  for (char c : name)
    text += std::string(c == '"' ? 2 : 1, c);
  return text + "\"";
}

Status Server::announce() {
  Words words{"ready", "1"};
  auto add = [&](const char *kind, const moert_value *values, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      std::string sizes;
      for (int32_t d = 0; d < values[i].rank; ++d) {
        int64_t size = values[i].sizes[d];
        sizes += d ? " " : "";
        sizes += size < 0 ? inQuotes(program.symbols[-(size + 1)]) : format("%lld", static_cast<long long>(size));
      }
      words.insert(words.end(), {kind, values[i].name, dtypeName(values[i].dtype), sizes});
    }
  };
  add("input", program.inputs, program.input_count);
  add("output", program.outputs, program.output_count);
  return writeMessage(answers, words, "");
}

Status Server::run(const Words &request, std::vector<moert_tensor> &outputs) {
  if (Status s = readArrays(requests, request, program, inputs); s.failed())
    return s;
  int32_t code = 0;
  for (int32_t i = 0; i < program.input_count && !code; ++i) {
    const Tensor &input = inputs[static_cast<size_t>(i)];
    code = moert_session_set_input(session, i, input.dtype, input.rank, input.sizes, input.data);
  }
  if (!code)
    code = moert_session_run(session);
  outputs.resize(static_cast<size_t>(program.output_count));
  for (int32_t i = 0; i < program.output_count && !code; ++i)
    code = moert_session_output(session, i, &outputs[static_cast<size_t>(i)]);
  return sessionStatus(session, code);
}

/// The flags of text are words of their own, "--stop=STRING"; those of a session cannot change any more.
Status Server::generate(const Words &request, std::string &text) {
  const char *const known[] = {"ids",  "max-new-tokens", "min-p",       "prefill-chunk", "repetition-penalty",
                               "seed", "stop",           "temperature", "top-k",         "top-p"};
  std::vector<const char *> words{"", "--generate="};
  for (size_t i = 1; i < request.size(); ++i) {
    const std::string &word = request[i];
    std::string name = word.substr(0, word.find('='));
    auto isName = [&](const char *flag) { return name == std::string("--") + flag; };
    if (std::none_of(std::begin(known), std::end(known), isName))
      return failure(kUserError, "'%s' is no flag of a request for text", name.c_str());
    words.push_back(word.c_str());
  }
  Options options;
  if (Status s = parseOptions(static_cast<int>(words.size()), words.data(), options); s.failed())
    return s;
  options.prompts.resize(1);
  if (Status s = requests.readText(options.prompts[0].value, kMaxPromptBytes); s.failed())
    return s;
  return generateText(session, program, options, text);
}

Status Server::answer(const Words &request, bool &isLast) {
  Words words{"done"};
  std::vector<moert_tensor> outputs;
  std::string text;
  Status status;
  if (request[0] == "run") {
    status = run(request, outputs);
  } else if (request[0] == "reset" && request.size() == 1) {
    moert_session_reset(session);
  } else if (request[0] == "variant" && request.size() == 2) {
    status = setVariant(session, request[1]);
  } else if (request[0] == "generate") {
    status = generate(request, text);
  } else {
    status = failure(kUserError, "there is no request '%.40s' of %zu words (known: run, reset, variant, generate)",
                     request[0].c_str(), request.size());
  }
  if (status.failed()) {
    words = {"error", format("%d", status.code), status.message};
    isLast = isOver(session);
    if (isLast)
      words.push_back("end");
    Status written = writeMessage(answers, words, "");
    return isLast ? status : written;
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    describeArray(program.outputs[i].name, outputs[i], words);
  return writeMessage(answers, words, text, outputs);
}

Status Server::serve() {
  if (Status s = takeOutput(); s.failed())
    return s;
  if (Status s = announce(); s.failed())
    return s;
  for (Words request;;) {
    if (Status s = requests.next(request); s.failed() || request.empty())
      return s;
    bool isLast = false;
    if (Status s = answer(request, isLast); s.failed() || isLast)
      return s;
  }
}

Status serve(moert_session *session, const moert_program &program) { return Server(session, program).serve(); }

} // namespace moert
