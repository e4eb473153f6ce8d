//===- Session.h - the object behind moert_session ----------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_SESSION_H
#define MOERT_LIB_CORE_SESSION_H

#include "core/Archive.h"
#include "core/Context.h"
#include "core/Select.h"
#include "moert/session.h"

struct moert_session {
  const moert_program *program = nullptr;
  moert::Archive archive;
  moert_context context;
  moert::Status status; // of the last call
  bool hasOutputs = false;

  /// The GPU's name, or "cpu".
  const char *deviceName() const { return context.device ? context.device->name() : "cpu"; }

  moert::Status open(const moert_program_list &programs, const moert_session_options &options);
  moert::Status setInput(int32_t index, int32_t dtype, int32_t rank, const int64_t *sizes, const void *data);
  moert::Status run();

private:
  moert::Status openDevice(const moert_program_list &programs, const moert::Selection &selection,
                           const moert_session_options &options);
  moert::Status openWeights(const moert_session_options &options);
  moert::Status runOnce();
};

#endif // MOERT_LIB_CORE_SESSION_H
