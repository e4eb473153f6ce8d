//===- Invoke.h - kernels as functions of an array of pointers ----------------------------------------------------===//
//
// MOE_EMULATED_KERNEL(name) after the text of `extern "C" __global__ void name(...)` defines name_emulated, which
// moe_emulation_launch runs. args[i] points to the value of argument i, as for cudaLaunchKernel.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_INVOKE_H
#define MOE_EMULATION_INVOKE_H

#include <type_traits>
#include <utility>

namespace moe::emulation {

template <typename... Parameters, size_t... kIndex>
void invoke(void (*kernel)(Parameters...), void *const *args, std::index_sequence<kIndex...>) {
  kernel(*static_cast<std::remove_const_t<Parameters> *>(args[kIndex])...);
}
template <typename... Parameters> void invoke(void (*kernel)(Parameters...), void *const *args) {
  invoke(kernel, args, std::index_sequence_for<Parameters...>());
}

} // namespace moe::emulation

#define MOE_EMULATED_KERNEL(name)                                                                                      \
  extern "C" __attribute__((visibility("default"))) void name##_emulated(void *const *args) {                          \
    ::moe::emulation::invoke(name, args);                                                                              \
  }

#endif
