//===- SessionApi.cpp - the functions of session.h ----------------------------------------------------------------===//

#include "core/Session.h"

#include <algorithm>
#include <new>
#include <unistd.h>

using namespace moert;

/// What the pointer of the C interface names: an open session, or the reason why there is none. The members can only be
/// reached through perform() and ask(), so that no function can forget that a session may be NULL, may not have opened,
/// or may be a copy in a child of fork(): the session's threads, sockets and GPU are the parent's.
struct moert_session {
  static int32_t open(const moert_program_list *programs, const moert_session_options &options, moert_session **result);

  /// The status of body(session), or the failure of a session that is not open: for functions that can fail.
  template <typename Body> static int32_t perform(moert_session *handle, Body body) {
    if (!handle)
      return kUserError;
    if (handle->isCopy())
      return kUserError;
    handle->status = handle->whyClosed.failed() ? failure(handle->whyClosed.code, "the session is not open: %s",
                                                          handle->whyClosed.message.c_str())
                                                : body(handle->session);
    return handle->status.code;
  }

  /// The value of body(session), or `otherwise` for a session that is not open: for functions that only tell.
  template <typename Value, typename Body> static Value ask(const moert_session *handle, Value otherwise, Body body) {
    return handle && !handle->isCopy() && !handle->whyClosed.failed() ? body(handle->session) : otherwise;
  }

  static const moert_program *program(const moert_session *handle) {
    return handle ? handle->session.program : nullptr;
  }
  static const char *error(const moert_session *handle) {
    if (!handle)
      return "there is no session: the pointer is NULL, as after an opening that found no memory";
    return handle->isCopy() ? "the session was opened by another process, of which this one is a fork: open one here"
                            : handle->status.message.c_str();
  }
  /// A copy stays as it is: its members would join threads that are not here, and leave a job that the parent is in.
  static void close(moert_session *handle) {
    if (handle && !handle->isCopy())
      delete handle;
  }

private:
  bool isCopy() const { return getpid() != process; }

  const pid_t process = getpid();
  Session session;
  Status whyClosed; // the failure of opening
  Status status;    // of the last call that can fail
};

int32_t moert_session::open(const moert_program_list *programs, const moert_session_options &options,
                            moert_session **result) {
  if (!result)
    return kUserError;
  moert_session *handle = *result = new (std::nothrow) moert_session;
  if (!handle)
    return kUserError;
  handle->whyClosed = handle->status = handle->session.open(programs, options);
  return handle->status.code;
}

bool moert::isOver(const moert_session *session) {
  return moert_session::ask(session, true, [](const Session &s) { return s.context.job && s.context.job->isOver(); });
}

static int32_t find(const moert_value *values, int32_t count, const char *name) {
  for (int32_t i = 0; name && i < count; ++i)
    if (std::strcmp(values[i].name, name) == 0)
      return i;
  return -1;
}

extern "C" {

int32_t moert_session_open(const moert_program_list *programs, const moert_session_options *options,
                           moert_session **session) {
  return moert_session::open(programs, options ? *options : moert_session_options{}, session);
}

const moert_program *moert_session_program(const moert_session *session) { return moert_session::program(session); }

void moert_session_close(moert_session *session) { moert_session::close(session); }

const char *moert_session_device(const moert_session *session) {
  return moert_session::ask(session, "none", [](const Session &s) { return s.deviceName(); });
}

const char *moert_session_error(const moert_session *session) { return moert_session::error(session); }

int32_t moert_session_find_input(const moert_session *session, const char *name) {
  return moert_session::ask(session, -1,
                            [&](const Session &s) { return find(s.program->inputs, s.program->input_count, name); });
}

int32_t moert_session_find_output(const moert_session *session, const char *name) {
  return moert_session::ask(session, -1,
                            [&](const Session &s) { return find(s.program->outputs, s.program->output_count, name); });
}

int32_t moert_session_set_input(moert_session *session, int32_t index, int32_t dtype, int32_t rank,
                                const int64_t *sizes, const void *data) {
  return moert_session::perform(session, [&](Session &s) { return s.setInput(index, dtype, rank, sizes, data); });
}

int32_t moert_session_run(moert_session *session) {
  return moert_session::perform(session, [](Session &s) { return s.run(); });
}

int32_t moert_session_output(moert_session *session, int32_t index, moert_tensor *output) {
  return moert_session::perform(session, [&](Session &s) { return s.output(index, output); });
}

void moert_session_reset(moert_session *session) {
  moert_session::perform(session, [](Session &s) {
    s.context.resetStates();
    return Status{};
  });
}

int32_t moert_session_threads(const moert_session *session) {
  return moert_session::ask(session, 0, [](const Session &s) { return s.context.pool.threads(); });
}

int64_t moert_session_state_bytes(const moert_session *session) {
  return moert_session::ask(session, int64_t(0),
                            [](const Session &s) { return static_cast<int64_t>(s.context.stateBytes); });
}

int64_t moert_session_arena_bytes(const moert_session *session) {
  return moert_session::ask(session, int64_t(0),
                            [](const Session &s) { return static_cast<int64_t>(s.context.arenaBytes()); });
}

int32_t moert_session_write_trace(moert_session *session, const char *path) {
  return moert_session::perform(session, [&](Session &s) { return s.writeTrace(path); });
}

const int64_t *moert_session_traffic(const moert_session *session, int32_t axis, int32_t *ranks) {
  return moert_session::ask(session, static_cast<const int64_t *>(nullptr), [&](const Session &s) -> const int64_t * {
    if (axis < 0 || static_cast<size_t>(axis) >= s.context.traffic.size())
      return nullptr;
    const std::vector<int64_t> &sent = s.context.traffic[static_cast<size_t>(axis)];
    if (ranks)
      *ranks = static_cast<int32_t>(sent.size());
    return sent.data();
  });
}

void moert_session_clear_traffic(moert_session *session) {
  moert_session::perform(session, [](Session &s) {
    for (std::vector<int64_t> &sent : s.context.traffic)
      std::fill(sent.begin(), sent.end(), 0);
    return Status{};
  });
}

int32_t moert_session_variants(const moert_session *session) {
  return moert_session::ask(session, 0, [](const Session &s) { return s.variants.count(); });
}

const char *moert_session_variant_name(const moert_session *session, int32_t variant) {
  return moert_session::ask(session, static_cast<const char *>(nullptr), [&](const Session &s) -> const char * {
    return variant >= 0 && variant < s.variants.count() ? s.variants.name(variant) : nullptr;
  });
}

int32_t moert_session_set_variant(moert_session *session, int32_t variant) {
  return moert_session::perform(session, [&](Session &s) { return s.variants.choose(variant); });
}

int32_t moert_session_variant(const moert_session *session) {
  return moert_session::ask(session, -1, [](const Session &s) { return s.variant; });
}

int32_t moert_session_expert_layers(const moert_session *session) {
  return moert_session::ask(session, 0, [](const Session &s) {
    return s.context.load ? static_cast<int32_t>(s.context.load->all().size()) : 0;
  });
}

const char *moert_session_expert_load(const moert_session *session, int32_t layer, int32_t *experts,
                                      const int64_t **rows) {
  return moert_session::ask(session, static_cast<const char *>(nullptr), [&](const Session &s) -> const char * {
    if (!s.context.load || layer < 0 || static_cast<size_t>(layer) >= s.context.load->all().size())
      return nullptr;
    const ExpertLoad::Layer &entry = s.context.load->all()[static_cast<size_t>(layer)];
    if (experts)
      *experts = static_cast<int32_t>(entry.rows.size());
    if (rows)
      *rows = entry.rows.data();
    return entry.name;
  });
}

void moert_session_clear_expert_load(moert_session *session) {
  moert_session::perform(session, [](Session &s) {
    if (s.context.load)
      s.context.load->clear();
    return Status{};
  });
}

} // extern "C"
