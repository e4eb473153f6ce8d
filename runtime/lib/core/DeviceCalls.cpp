//===- DeviceCalls.cpp - what a call on a device leaves for its end -----------------------------------------------===//

#include "core/DeviceCalls.h"

#include "core/Program.h"

namespace moert {

static uint64_t bytesOf(const Tensor &tensor) {
  uint64_t bytes = 0;
  tensorBytes(tensor.dtype, tensor.rank, tensor.sizes, bytes);
  return bytes;
}

Status DeviceCalls::bring(Device &device, const moert_program &program, std::vector<Tensor> &inputs, bool copies) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor &input = inputs[i];
    uint64_t bytes = bytesOf(input);
    if (Status s = device.reserve(input.block, bytes, program.inputs[i].name); s.failed())
      return s;
    if (Status s = device.upload(input.block.base, input.data, copies ? bytes : 0); s.failed())
      return s;
    input.view = input.block.base;
  }
  return {};
}

Status DeviceCalls::launch(Device &device, const moert_program &program, const moert_kernel *kernel, const void *args,
                           const Launch &what, bool traced) {
  int32_t number = 0;
  if (Status s = kernelNumber(program, kernel, number); s.failed())
    return s;
  if (traced && what.blocks > 0)
    launches.push_back(what);
  return device.launch(number, args, what.blocks, traced);
}

Status DeviceCalls::read(Device &device, void *to, const void *from, uint64_t bytes) {
  if (Status s = device.download(to, from, bytes); s.failed())
    return s;
  return device.finish();
}

Status DeviceCalls::expertLoad(Device &device, const char *layer, const int32_t *offsets, int32_t experts) {
  if (loadCount == loads.size())
    loads.emplace_back();
  Load &load = loads[loadCount++];
  load.layer = layer;
  load.offsets.resize(static_cast<size_t>(experts) + 1);
  return device.download(load.offsets.data(), offsets, load.offsets.size() * sizeof(int32_t));
}

Status DeviceCalls::fetch(Device &device, const moert_program &program, std::vector<Tensor> &outputs, bool copies) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor &output = outputs[i];
    if (!output.present)
      continue;
    uint64_t bytes = bytesOf(output);
    if (Status s = device.pageLocked(output.locked, bytes, output.data); s.failed())
      return s;
    if (!output.data) {
      if (!output.memory.reserve(bytes))
        return failure(kUserError, "out of memory: %s needs %llu bytes", program.outputs[i].name,
                       static_cast<unsigned long long>(bytes));
      output.data = output.memory.data();
    }
    if (Status s = device.download(output.data, output.view, copies ? bytes : 0); s.failed())
      return s;
  }
  return device.finish();
}

Status DeviceCalls::resolve(Device &device, int64_t callBegin, Trace *trace, ExpertLoad *load) {
  for (size_t i = 0; i < launches.size(); ++i) {
    LaunchTime time;
    if (Status s = device.time(i, time); s.failed())
      return s;
    const Launch &l = launches[i];
    trace->launch(l.name, callBegin + time.begin, callBegin + time.end, l.blocks, l.rows, l.work, l.phase);
  }
  for (size_t i = 0; i < loadCount; ++i)
    load->add(loads[i].layer, loads[i].offsets.data(), static_cast<int32_t>(loads[i].offsets.size()) - 1);
  clear();
  return {};
}

void DeviceCalls::clear() {
  launches.clear();
  loadCount = 0;
}

} // namespace moert
