//===- Interrupt.cpp - signals and crashes ------------------------------------------------------------------------===//

#include "Interrupt.h"
#include "moe-mlir/Driver/Driver.h"
#include "moe-mlir/Support/FatalErrors.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace moe_mlir;

namespace {
/// Signals reach a process, not an object: this is the one place of the driver with global state.
struct State {
  std::mutex mutex;
  StringSet<> folders;
  std::string phase, command, ir;
  bool isDone = false;
};
State &state() {
  static State *instance = new State; // outlives everything, as crashes happen at any time
  return *instance;
}

/// Again while something is left: a linker that still runs may be creating a file.
void removeFolders() {
  for (const auto &folder : state().folders)
    for (int attempt = 0; attempt < 50; ++attempt) {
      sys::fs::remove_directories(folder.getKey());
      if (!sys::fs::exists(folder.getKey()))
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

/// Runs on a thread of its own, so it may do what a signal handler must not.
void waitForSignal(sigset_t signals) {
  for (;;) {
    int signal;
    while (sigwait(&signals, &signal) != 0)
      ;
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().isDone)
      continue;
    removeFolders();
    errs() << "\nmoe-compile: ";
    if (signal == SIGINT)
      errs() << "interrupted";
    else
      errs() << "ended by SIG" << sigabbrev_np(signal);
    errs() << "; no output was written\n";
    _exit(kSignalled + signal);
  }
}

/// What ends the process after a signal of the processor, on a thread of its own: the thread that got it may hold any
/// lock, such as that of its heap, and what is left to do takes memory.
struct Ending {
  sem_t isDue;
  void (*end)();
};
Ending &ending() {
  static Ending *instance = new Ending;
  return *instance;
}
thread_local bool isEndingThread = false;

void waitForCrash() {
  isEndingThread = true;
  void *volatile first = malloc(1); // takes a heap for this thread while none is locked
  free(first);
  // A signal that is sent to the process is another thread's to handle.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  while (sem_wait(&ending().isDue) != 0)
    ;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ending().end();
}

void onBlockedEnding(int) {
  constexpr StringLiteral text = "moe-compile: internal error: the compiler crashed, and its report does not end\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
  _exit(kInternal);
}

/// Safe in a handler of signals.
[[noreturn]] void endElsewhere(void (*end)()) {
  static std::atomic_flag entered = ATOMIC_FLAG_INIT;
  if (isEndingThread)
    _exit(kInternal);
  if (!entered.test_and_set()) {
    ending().end = end;
    signal(SIGALRM, onBlockedEnding); // an ending that blocks must not become a hang
    alarm(10);
    sem_post(&ending().isDue);
  }
  for (;;)
    pause();
}

void onCrash(void *) {
  endElsewhere([] {
    reportInternalError("the compiler crashed");
    removeFolders();
    _exit(kInternal);
  });
}

/// Models, weights and outputs are mapped: what would be an error of read() or write() comes as a signal.
void onBusError(int, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR && info->si_code != BUS_OBJERR)
    onCrash(nullptr);
  endElsewhere([] {
    errs() << "moe-compile: error: a file that is mapped cannot be read or written: an input became shorter while it "
              "was read, or a disk is full or failed\n";
    removeFolders();
    _exit(kUserError);
  });
}
} // namespace

/// A fatal error of LLVM. An error of a stream has been said.
static void onFatalError(const char *internalError) {
  if (internalError)
    reportInternalError(internalError);
  removeFolders();
}

/// A closed standard stream would give its number to the next file that is opened, and text meant for the stream would
/// go there. A stand-in that is only read makes writes fail, and one that is only written reads, as they should; messages
/// nobody is to see go nowhere.
static void keepStandardStreams() {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY);
}

static bool isIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void moe_mlir::handleInterrupts() {
  keepStandardStreams();
  state();
  sem_init(&ending().isDue, /*pshared=*/0, 0);
  // What comes from outside ends the process and is no crash, as LLVM counts some of it. What whoever started the
  // process wants ignored (nohup, a script's background job) stays so.
  sigset_t signals;
  sigemptyset(&signals);
  std::vector<int> ignored;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU})
    isIgnored(signal) ? ignored.push_back(signal) : (void)sigaddset(&signals, signal);
  sys::AddSignalHandler(onCrash, nullptr);
  struct sigaction mapped = {};
  mapped.sa_sigaction = onBusError;
  mapped.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &mapped, nullptr);
  handleFatalErrors("moe-compile", onFatalError);
  ignored.push_back(SIGPIPE); // to LLVM a crash, here an error of a write
  for (int signal : ignored)
    ::signal(signal, SIG_IGN);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(waitForSignal, signals).detach();
  std::thread(waitForCrash).detach();
}

InterruptsHeld::InterruptsHeld() { state().mutex.lock(); }
InterruptsHeld::~InterruptsHeld() { state().mutex.unlock(); }

void InterruptsHeld::workIsDone() { state().isDone = true; }

bool moe_mlir::makeScratchFolder(char *name) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (!mkdtemp(name))
    return false;
  state().folders.insert(name);
  return true;
}

void moe_mlir::removeScratchFolder(const std::string &path) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().folders.erase(path);
  sys::fs::remove_directories(path);
}

void moe_mlir::setCrashContext(std::string phase, std::string command, std::string ir) {
  state().phase = std::move(phase);
  state().command = std::move(command);
  state().ir = std::move(ir);
}

void moe_mlir::reportInternalError(StringRef what) {
  State &context = state();
  errs() << "moe-compile: internal error: " << what;
  if (!context.phase.empty())
    errs() << " in phase '" << context.phase << "'";
  errs() << "; this is a fault of the compiler, not of the model\n";
  if (context.ir.empty()) {
    errs() << "  note: there was no IR yet; please report the input and the command line\n";
    return;
  }
  SmallString<128> path;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  sys::path::append(path, "moe-compile-crash-XXXXXX.mlir");
  (void)path.c_str(); // ends it with a zero
  int fd = mkostemps(path.data(), strlen(".mlir"), O_CLOEXEC);
  if (fd < 0)
    return;
  raw_fd_ostream os(fd, /*shouldClose=*/true);
  os << "// Reproduce with: " << context.command << " " << path << "\n" << context.ir;
  os.close();
  if (os.has_error()) {
    os.clear_error();
    return;
  }
  errs() << "  note: the IR before it and the command are in " << path << "; please report them\n";
}
