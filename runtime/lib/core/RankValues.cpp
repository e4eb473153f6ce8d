//===- RankValues.cpp - inputs and outputs that ranks have parts of -----------------------------------------------===//

#include "core/RankValues.h"

namespace moert {

/// Where the part of a rank begins: floor(size * rank / ranks), without a product that might overflow.
static int64_t partBegin(int64_t size, int64_t rank, int64_t ranks) {
  return size / ranks * rank + size % ranks * rank / ranks;
}

static Status outOfMemory(const char *name, uint64_t bytes) {
  return failure(kUserError, "out of memory: %s needs %llu bytes", name, static_cast<unsigned long long>(bytes));
}

/// Bytes of one element of dimension 0.
static uint64_t rowBytes(const Tensor &tensor) {
  uint64_t bytes = dtypeSize(tensor.dtype);
  for (int32_t d = 1; d < tensor.rank; ++d)
    bytes *= static_cast<uint64_t>(tensor.sizes[d]);
  return bytes;
}

namespace {
/// What a rank has of an input.
struct InputPart {
  int64_t rows;
  uint64_t bytes;
  char *data;

  InputPart(const Group &ranks, const Tensor &input) {
    int64_t begin = partBegin(input.sizes[0], ranks.rank(), ranks.ranks());
    rows = partBegin(input.sizes[0], ranks.rank() + 1, ranks.ranks()) - begin;
    bytes = static_cast<uint64_t>(rows) * rowBytes(input);
    data = static_cast<char *>(input.data) + static_cast<uint64_t>(begin) * rowBytes(input);
  }
  /// Kernels count on the alignment of what they get. The whole, if it is a copy, has room.
  bool reserve(Tensor &input) const {
    return !moves() || input.data == input.memory.data() || input.memory.reserve(bytes);
  }
  bool moves() const { return reinterpret_cast<uintptr_t>(data) % kArchiveAlignment != 0; }
};
} // namespace

Status RankValues::divide(Job &job, const moert_program &program, std::vector<Tensor> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t axes = axesOf(program, program.inputs[i]);
    if (!axes)
      continue;
    Tensor &input = inputs[i];
    InputPart part(job.along(axes), input);
    if (!part.reserve(input))
      return outOfMemory(program.inputs[i].name, part.bytes);
    if (part.moves()) {
      std::memmove(input.memory.data(), part.data, part.bytes);
      part.data = static_cast<char *>(input.memory.data());
    }
    input.sizes[0] = part.rows;
    input.data = input.view = part.data;
  }
  return {};
}

Status RankValues::Rehearsal::begin() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t axes = axesOf(program, program.inputs[i]);
    Tensor &input = inputs[i];
    rows.push_back(input.rank ? input.sizes[0] : 0);
    if (!axes)
      continue;
    InputPart part(job.along(axes), input);
    if (!part.reserve(input))
      return outOfMemory(program.inputs[i].name, part.bytes);
    input.sizes[0] = part.rows;
  }
  return {};
}

RankValues::Rehearsal::~Rehearsal() {
  for (size_t i = 0; i < rows.size(); ++i)
    if (inputs[i].rank)
      inputs[i].sizes[0] = rows[i];
}

Status RankValues::learnParts(Job &job, ControlGroup &ranks, const char *name, Tensor &output, int64_t &rows) {
  struct Part {
    int64_t rows;
    uint64_t rowBytes;
  } mine{output.sizes[0], rowBytes(output)};
  if (!ranks.tell(&mine, sizeof mine))
    return job.why();
  rows = 0;
  sizes.clear();
  for (int peer = 0; peer < ranks.ranks(); ++peer) {
    Part part;
    std::memcpy(&part, ranks.take(peer), sizeof part);
    if (part.rowBytes != mine.rowBytes)
      return failure(kInternal, "rank %d has rows of %llu bytes in output '%s', rank %d of %llu", ranks.member(peer),
                     static_cast<unsigned long long>(part.rowBytes), name, job.rank(),
                     static_cast<unsigned long long>(mine.rowBytes));
    rows += part.rows;
    sizes.push_back(static_cast<uint64_t>(part.rows) * part.rowBytes);
  }
  uint64_t bytes = static_cast<uint64_t>(rows) * mine.rowBytes;
  return output.whole.reserve(bytes) ? Status() : outOfMemory(name, bytes);
}

Status RankValues::gatherOne(Job &job, ControlGroup &ranks, const char *name, Tensor &output) {
  int64_t rows;
  if (Status s = learnParts(job, ranks, name, output, rows); s.failed())
    return s;
  if (Status s = job.collect(ranks, output.data, sizes, static_cast<char *>(output.whole.data())); s.failed())
    return s;
  output.data = output.whole.data();
  output.sizes[0] = rows;
  return {};
}

Status RankValues::reserve(Job &job, const moert_program &program, std::vector<Tensor> &outputs) {
  int64_t rows;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (uint32_t axes = axesOf(program, program.outputs[i]); axes && job.along(axes).ranks() > 1)
      if (Status s = learnParts(job, job.along(axes), program.outputs[i].name, outputs[i], rows); s.failed())
        return s;
  return {};
}

Status RankValues::gather(Job &job, const moert_program &program, std::vector<Tensor> &outputs) {
  job.setPhase("the gathering of outputs");
  for (size_t i = 0; i < outputs.size(); ++i)
    if (uint32_t axes = axesOf(program, program.outputs[i]); axes && job.along(axes).ranks() > 1)
      if (Status s = gatherOne(job, job.along(axes), program.outputs[i].name, outputs[i]); s.failed())
        return s;
  return {};
}

} // namespace moert
