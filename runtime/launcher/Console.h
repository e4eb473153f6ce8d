//===- Console.h - standard streams, whole files, signals ---------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_CONSOLE_H
#define MOERT_LAUNCHER_CONSOLE_H

#include "core/Status.h"

#include <signal.h>

namespace moert {

/// Makes the process fit for pipes and limits: a write to a closed pipe, past a file-size limit or to a closed standard
/// output is an error of that write instead of a signal, or a surprise in a file that got the number by chance.
/// Ctrl-C ends the process with 130, SIGTERM with 143, SIGHUP with 129.
void setUpProcess(const char *executable);

/// Writes to the standard output at once.
Status print(const std::string &text);

/// Writes a line to the standard error; what goes wrong there has nobody to hear of it. `note` is for what a user may
/// want to know, `complain` for errors.
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// From here on nothing but errors is printed: another rank prints the same.
void silence();

/// Gives the calling thread, a rank, another standard input; and silence, unless it is the rank that is heard.
void setUpThread(int input, bool isHeard);

/// The descriptor of the calling thread's standard input.
int standardInput();
/// Whether the calling thread is heard.
bool isHeard();

/// Whether a reader goes on after read() has failed with `number`: where there is nothing yet, it has been waited for.
/// Whoever shares the other end of a terminal or pipe may have made it non-blocking for all of them.
bool mayGoOn(int fd, int number);

/// Reads a file, a pipe or a device, or the standard input for "-", of at most `limit` bytes. Waits for whoever writes
/// to a pipe, if there is somebody.
Status readAll(const std::string &path, size_t limit, std::string &text);

/// Makes a folder unless there is one; the folder around it must exist.
Status makeFolder(const std::string &dir);

/// Reads a line of the standard input without buffering beyond it. Returns false at the end of the input.
bool readLine(std::string &line);

/// Keeps Ctrl-C and termination waiting while files get their content and their names, so that no temporary file
/// remains. Not while something is written that somebody else reads, and may stop reading: then `hold` is false.
class SignalsHeld {
public:
  explicit SignalsHeld(bool hold = true);
  ~SignalsHeld();

private:
  bool held;
  sigset_t before;
};

} // namespace moert

#endif // MOERT_LAUNCHER_CONSOLE_H
