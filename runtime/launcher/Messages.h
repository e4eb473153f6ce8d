//===- Messages.h - what a process that serves and its owner say to each other ------------------------------------===//
//
// A message is words and data: two 64-bit numbers (little-endian), the bytes of the words and those of the data; the
// words, each ended by a zero byte; the data. Requests are not trusted: every size is checked before it is used, and
// memory is taken as the data comes.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_MESSAGES_H
#define MOERT_LAUNCHER_MESSAGES_H

#include "core/Inputs.h"
#include "moert/session.h"

namespace moert {

using Words = std::vector<std::string>;

/// Reads messages one after the other.
class MessageReader {
public:
  explicit MessageReader(int fd) : fd(fd) {}

  /// Skips what is left of the message before, and reads the words of the next one: at least one, or none if the
  /// input has ended. Fails if what comes is no message; there is no next one then.
  Status next(Words &words);

  /// Bytes of the message's data that were not read yet.
  uint64_t left() const { return dataLeft; }
  /// Reads `size` bytes of them.
  Status read(void *data, uint64_t size);
  /// Reads the rest of them, unless they are more than `limit`.
  Status readText(std::string &text, uint64_t limit);

private:
  Status fill(void *data, uint64_t size, bool &ended);
  Status skip();

  int fd;
  uint64_t dataLeft = 0;
};

/// Reads the inputs of a call: words[1] on are NAME TYPE SIZES for each array ("tokens", "i64", "1 8"), the data are
/// their elements in the same order. The arrays in `inputs` own their memory, and keep it from call to call. bfloat16
/// is read from float32, too.
Status readArrays(MessageReader &reader, const Words &words, const moert_program &program, std::vector<Tensor> &inputs);

/// NAME TYPE SIZES of an array as words.
void describeArray(const char *name, const moert_tensor &array, Words &words);

/// Writes a message whose data are `text`, or the elements of `arrays`.
Status writeMessage(int fd, const Words &words, const std::string &text, const std::vector<moert_tensor> &arrays = {});

} // namespace moert

#endif // MOERT_LAUNCHER_MESSAGES_H
