//===- Session.h - a program that is open -------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_SESSION_H
#define MOERT_LIB_CORE_SESSION_H

#include "core/Archive.h"
#include "core/Context.h"
#include "core/Select.h"
#include "core/Variants.h"
#include "moert/session.h"

namespace moert {

/// What a moert_session works on. Nothing but `program` may be used unless open() has succeeded: SessionApi.cpp sees to
/// that.
struct Session {
  const moert_program *program = nullptr; // as soon as it is chosen; the variant of the last run
  Variants variants;
  int32_t variant = 0; // its number
  Archive archive;
  moert_context context;
  bool hasOutputs = false;

  /// The GPU's name, or "cpu".
  const char *deviceName() const { return context.device ? context.device->name() : "cpu"; }

  Status open(const moert_program_list *programs, const moert_session_options &options);
  /// An input that is refused is missing afterwards, whatever it was before.
  Status setInput(int32_t index, int32_t dtype, int32_t rank, const int64_t *sizes, const void *data);
  Status run();
  Status output(int32_t index, moert_tensor *output) const;
  Status writeTrace(const char *path) const;

private:
  std::string weights;     ///< the archive's path, whether it is read or not
  std::string reservation; ///< for a variant: what the ranks are doing
  std::string nccl;        ///< "NCCL 2.29.7" if it gives their windows

  Status openDevice(const moert_program_list &programs, const Selection &selection,
                    const moert_session_options &options);
  Status openWeights(const moert_session_options &options);
  /// All that a rank opens for itself.
  Status openAlone(const moert_program_list &programs, const Selection &selection,
                   const moert_session_options &options);
  Status startPool(const moert_session_options &options);
  /// How ranks reach each other's GPUs, before they start.
  Status findDeviceProvider(const moert_session_options &options);
  /// What ranks share on their GPUs.
  Status openDeviceRanks(const moert_session_options &options);
  /// Meets the other ranks of a program with axes.
  Status joinRanks(const moert_session_options &options);
  /// Gives the symbols the sizes of the inputs.
  Status bindSymbols();
  Status runOnce();
  /// One rank's part of a run, and what ranks do before and after it.
  Status runChecked();
  Status runTogether();
  /// Whether all ranks were given inputs of the same sizes, and the same variant, and all have states or none;
  /// `areTogether` is false if that cannot be known.
  Status compareSizes(bool &areTogether);
  /// Refuses to write the trace into a file that the program is or reads.
  Status checkTrace(const char *path) const;
  void setVariant(int32_t number);
  /// Reserves what a call with the present inputs takes, by whatever variant.
  Status reserveForVariants();
  /// A file with the events of all ranks.
  Status writeRankTraces(const char *path) const;
};

/// Whether no run of the session is possible any more, as its ranks are not together.
bool isOver(const moert_session *session);

} // namespace moert

#endif // MOERT_LIB_CORE_SESSION_H
