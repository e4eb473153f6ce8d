//===- DocumentCheck.cpp - documents that a parser survives -------------------------------------------------------===//

#include "DocumentCheck.h"

#include "Pipe.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <unistd.h>

using namespace llvm;

/// Of messages; LLVM's parser of JSON recurses.
static constexpr unsigned maxNesting = 200;
/// The server reads no longer messages.
static constexpr uint64_t maxMessage = 1 << 30;

static bool isNestedTooDeep(StringRef json) {
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (isString && c == '\\')
      ++i;
    else if (c == '"')
      isString = !isString;
    else if (!isString && (c == '[' || c == '{') && ++depth > maxNesting)
      return true;
    else if (!isString && (c == ']' || c == '}') && depth)
      --depth;
  }
  return false;
}

/// An operation that no dialect has: the server names it, and with it what is wrong, as an error of this line.
static std::string textThatSays(StringRef what, unsigned line) {
  std::string name;
  for (char c : what)
    name += c == '"' || c == '\\' ? '\'' : c;
  return std::string(line - 1, '\n') + "\"builtin." + name + "\"() : () -> ()\n";
}

/// Whether the object's text was replaced.
static bool replaceText(json::Object *object) {
  std::optional<StringRef> text = object ? object->getString("text") : std::nullopt;
  unsigned line = 1;
  Error error = text ? moe_mlir::checkIrText(*text, line) : Error::success();
  if (!error)
    return false;
  (*object)["text"] = textThatSays(toString(std::move(error)), line);
  return true;
}

/// The message that the server is given; none if it could not read it.
static std::string checked(std::string message) {
  if (isNestedTooDeep(message)) {
    // In one piece: the server's thread writes its log beside this one, and `errs` keeps nothing back.
    errs() << ("moe-lsp-server: error: a message has more than " + Twine(maxNesting) + " nested levels\n").str();
    return "";
  }
  Expected<json::Value> value = json::parse(message);
  if (!value) {
    consumeError(value.takeError()); // said by the server
    return message;
  }
  json::Object *object = value->getAsObject(), *params = object ? object->getObject("params") : nullptr;
  if (!params)
    return message;
  const StringRef method = object->getString("method").value_or("");
  bool isReplaced = false;
  if (method == "textDocument/didOpen")
    isReplaced = replaceText(params->getObject("textDocument"));
  json::Array *changes = method == "textDocument/didChange" ? params->getArray("contentChanges") : nullptr;
  for (size_t i = 0; changes && i < changes->size(); ++i)
    isReplaced |= replaceText((*changes)[i].getAsObject());
  if (!isReplaced)
    return message;
  message.clear();
  raw_string_ostream(message) << *value;
  return message;
}

/// The bytes of the message behind a header, none if it does not say so.
static std::optional<uint64_t> lengthOf(StringRef header) {
  std::optional<uint64_t> length;
  for (StringRef line : split(header, '\n')) {
    uint64_t value;
    if (line.consume_front("Content-Length: ") && !line.trim().getAsInteger(10, value))
      length = value;
  }
  return length;
}

static bool give(int to, StringRef text) {
  while (!text.empty()) {
    const ssize_t size = write(to, text.data(), text.size());
    if (size < 0 && errno != EINTR)
      return false;
    text = text.drop_front(std::max<ssize_t>(size, 0));
  }
  return true;
}

/// Passes on every message of `text` that is complete, and leaves the rest; false when nobody reads any more.
static bool passMessages(std::string &text, int to) {
  for (;;) {
    const size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos)
      return true;
    const std::string header = text.substr(0, end + 4);
    const std::optional<uint64_t> length = lengthOf(header);
    if (!length || *length > maxMessage) { // the server says so
      const bool isWritten = give(to, text);
      text.clear();
      return isWritten;
    }
    if (text.size() - header.size() < *length)
      return true;
    const std::string message = checked(text.substr(header.size(), *length));
    text.erase(0, header.size() + *length);
    if (!message.empty() && !give(to, "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n" + message))
      return false;
  }
}

/// Until the input ends.
static void giveChecked(int from, int to) {
  std::string text;
  moe_mlir::readPieces(from, [&](StringRef piece) {
    text += piece;
    return passMessages(text, to);
  });
  (void)give(to, text);
  close(to);
}

void moe_mlir::checkDocuments() {
  int ends[2];
  const int original = dup(STDIN_FILENO);
  if (original < 0 || pipe(ends) != 0)
    return;
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  // The server may end while this waits for the next message.
  std::thread(giveChecked, original, ends[1]).detach();
}
