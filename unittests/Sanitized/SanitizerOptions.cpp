//===- SanitizerOptions.cpp - how the sanitized compiler reports --------------------------------------------------===//

/// An exit code that the compiler never has. The LLVM that is linked does not annotate its containers.
extern "C" const char *__asan_default_options() {
  return "exitcode=99:detect_container_overflow=0:detect_odr_violation=0:allow_user_poisoning=0";
}

extern "C" const char *__ubsan_default_options() { return "print_stacktrace=1"; }
