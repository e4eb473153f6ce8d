//===- SessionApi.cpp - the functions of session.h ----------------------------------------------------------------===//

#include "core/Session.h"

#include <new>

using namespace moert;

static int32_t finish(moert_session *session, Status status) {
  session->status = std::move(status);
  return session->status.code;
}

static int32_t find(const moert_value *values, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; ++i)
    if (std::strcmp(values[i].name, name) == 0)
      return i;
  return -1;
}

extern "C" {

int32_t moert_session_open(const moert_program_list *programs, const moert_session_options *options,
                           moert_session **result) {
  auto *session = *result = new (std::nothrow) moert_session;
  if (!session)
    return kUserError;
  return finish(session, session->open(*programs, options ? *options : moert_session_options{}));
}

const moert_program *moert_session_program(const moert_session *session) { return session->program; }

void moert_session_close(moert_session *session) { delete session; }

const char *moert_session_device(const moert_session *session) { return session->deviceName(); }

const char *moert_session_error(const moert_session *session) {
  return session ? session->status.message.c_str() : "out of memory";
}

int32_t moert_session_find_input(const moert_session *session, const char *name) {
  return session->program ? find(session->program->inputs, session->program->input_count, name) : -1;
}

int32_t moert_session_find_output(const moert_session *session, const char *name) {
  return session->program ? find(session->program->outputs, session->program->output_count, name) : -1;
}

int32_t moert_session_set_input(moert_session *session, int32_t index, int32_t dtype, int32_t rank,
                                const int64_t *sizes, const void *data) {
  return finish(session, session->setInput(index, dtype, rank, sizes, data));
}

int32_t moert_session_run(moert_session *session) { return finish(session, session->run()); }

int32_t moert_session_output(moert_session *session, int32_t index, moert_tensor *output) {
  if (!session->hasOutputs)
    return finish(session, failure(kUserError, "there are no outputs: no run has succeeded"));
  if (index < 0 || index >= session->program->output_count)
    return finish(session, failure(kUserError, "there is no output %d, the program has %d", index,
                                   session->program->output_count));
  const Tensor &tensor = session->context.outputs[index];
  output->dtype = tensor.dtype;
  output->rank = tensor.rank;
  for (int32_t i = 0; i < MOERT_MAX_RANK; ++i)
    output->sizes[i] = i < tensor.rank ? tensor.sizes[i] : 0;
  output->data = tensor.data;
  return kFine;
}

void moert_session_reset(moert_session *session) { session->context.resetStates(); }

int32_t moert_session_threads(const moert_session *session) { return session->context.pool.threads(); }

int64_t moert_session_state_bytes(const moert_session *session) {
  return static_cast<int64_t>(session->context.stateBytes);
}

int64_t moert_session_arena_bytes(const moert_session *session) {
  return static_cast<int64_t>(session->context.arenaBytes());
}

int32_t moert_session_write_trace(moert_session *session, const char *path) {
  if (!session->context.trace)
    return finish(session, failure(kUserError, "the session was opened without a trace"));
  return finish(session, session->context.trace->write(path, session->program->name));
}

int32_t moert_session_expert_layers(const moert_session *session) {
  return session->context.load ? static_cast<int32_t>(session->context.load->all().size()) : 0;
}

const char *moert_session_expert_load(const moert_session *session, int32_t layer, int32_t *experts,
                                      const int64_t **rows) {
  if (layer < 0 || layer >= moert_session_expert_layers(session))
    return nullptr;
  const ExpertLoad::Layer &entry = session->context.load->all()[static_cast<size_t>(layer)];
  *experts = static_cast<int32_t>(entry.rows.size());
  *rows = entry.rows.data();
  return entry.name;
}

void moert_session_clear_expert_load(moert_session *session) {
  if (session->context.load)
    session->context.load->clear();
}

} // extern "C"
