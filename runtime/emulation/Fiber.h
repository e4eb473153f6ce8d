//===- Fiber.h - the smallest stackful coroutine ------------------------------------------------------------------===//
//
// A switch takes about 5 ns; ucontext, which saves the signal mask by a system call, takes 50 times as long. Under
// AddressSanitizer each switch is announced to it.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_FIBER_H
#define MOE_EMULATION_FIBER_H

namespace moe::emulation {

class Fiber {
public:
  using Entry = void (*)(void *argument);

  Fiber() = default;
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;
  /// A fiber that has not ended is dropped without unwinding its stack.
  ~Fiber();

  void start(Entry entry, void *argument);
  /// Runs until the fiber suspends itself or its entry returns.
  void resume();
  /// Called on the fiber.
  void suspend();
  /// Its stack was too small; what lies below has been overwritten.
  bool overflowed() const;

private:
  static void enter(Fiber *fiber);
  void switchTo(void **save, void *next, void **fakeStack, const void *bottom, unsigned long size);

  unsigned char *stack = nullptr;
  Entry entry = nullptr;
  void *argument = nullptr;
  void *inside = nullptr, *outside = nullptr; // saved stack pointers
  // What AddressSanitizer keeps for each of the two stacks.
  void *insideFake = nullptr, *outsideFake = nullptr;
  const void *outsideBottom = nullptr;
  unsigned long outsideSize = 0;
};

} // namespace moe::emulation

#endif
