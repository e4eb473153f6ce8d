//===- Fiber.cpp - the smallest stackful coroutine ----------------------------------------------------------------===//

#include "Fiber.h"

#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define MOE_EMULATION_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOE_EMULATION_ASAN
#endif
#endif
#if defined(MOE_EMULATION_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "the switch below is written for x86-64"
#endif

// Saves the registers that a call preserves, and changes the stack.
asm(R"(
.text
.type moe_emulation_switch,@function
moe_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size moe_emulation_switch, .-moe_emulation_switch
.type moe_emulation_enter,@function
moe_emulation_enter:
  movq %rbx, %rdi
  callq *%r12
  ud2
.size moe_emulation_enter, .-moe_emulation_enter
)");
extern "C" void moe_emulation_switch(void **save, void *next) asm("moe_emulation_switch");
extern "C" void moe_emulation_enter() asm("moe_emulation_enter");

namespace moe::emulation {

// Frames are large without optimisation, and with sanitizers. Pages that nobody touches take no memory.
constexpr size_t kStackBytes = 256 * 1024;
// At the far end of the stack. Guard pages would exhaust vm.max_map_count with thousands of fibers.
constexpr uint64_t kCanary = 0x5afe57ac5afe57ac;

/// Stacks of fibers that are gone, for the next launch.
static std::vector<unsigned char *> &spareStacks() {
  static std::vector<unsigned char *> stacks;
  return stacks;
}

static unsigned char *takeStack() {
  unsigned char *stack;
  if (!spareStacks().empty()) {
    stack = spareStacks().back();
    spareStacks().pop_back();
#if defined(MOE_EMULATION_ASAN)
    ASAN_UNPOISON_MEMORY_REGION(stack, kStackBytes); // frames of a fiber that was dropped
#endif
  } else {
    void *p = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      throw std::bad_alloc();
    stack = static_cast<unsigned char *>(p);
  }
  *reinterpret_cast<uint64_t *>(stack) = kCanary;
  return stack;
}

Fiber::~Fiber() {
  if (stack)
    spareStacks().push_back(stack);
}

void Fiber::enter(Fiber *fiber) {
#if defined(MOE_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &fiber->outsideBottom, &fiber->outsideSize);
#endif
  fiber->entry(fiber->argument);
  // The last switch: nothing is kept of this stack.
  fiber->switchTo(&fiber->inside, fiber->outside, nullptr, fiber->outsideBottom, fiber->outsideSize);
  __builtin_unreachable();
}

void Fiber::start(Entry newEntry, void *newArgument) {
  if (!stack)
    stack = takeStack();
  entry = newEntry;
  argument = newArgument;
  // What moe_emulation_switch pops: r15 to r13, r12, rbx, rbp, the return address. At the entry the stack is aligned as
  // the ABI wants it before a call.
  void **top = reinterpret_cast<void **>(stack + kStackBytes) - 2;
  *--top = reinterpret_cast<void *>(&moe_emulation_enter);
  *--top = nullptr;
  *--top = this;
  *--top = reinterpret_cast<void *>(&enter);
  for (int i = 0; i < 3; ++i)
    *--top = nullptr;
  inside = top;
}

void Fiber::switchTo(void **save, void *next, [[maybe_unused]] void **fakeStack, [[maybe_unused]] const void *bottom,
                     [[maybe_unused]] unsigned long size) {
#if defined(MOE_EMULATION_ASAN)
  __sanitizer_start_switch_fiber(fakeStack, bottom, size);
#endif
  moe_emulation_switch(save, next);
}

void Fiber::resume() {
  switchTo(&outside, inside, &outsideFake, stack, kStackBytes);
#if defined(MOE_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(outsideFake, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  switchTo(&inside, outside, &insideFake, outsideBottom, outsideSize);
#if defined(MOE_EMULATION_ASAN)
  __sanitizer_finish_switch_fiber(insideFake, &outsideBottom, &outsideSize);
#endif
}

bool Fiber::overflowed() const { return *reinterpret_cast<const uint64_t *>(stack) != kCanary; }

} // namespace moe::emulation
