//===- Containers.cpp - the parts of libstdc++ that are not templates in headers ----------------------------------===//
//
// libstdc++ keeps std::string's members, and the functions by which containers report misuse, in its library. Taking
// them from libstdc++.a would pull in exceptions and streams; so the members are instantiated here, and misuse ends the
// process. Misuse is only possible through an error in the runtime: all sizes that come from files or users are checked
// before.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

namespace std {

[[noreturn]] static void giveUp(const char *what) {
  std::fprintf(stderr, "moert: internal error: %s\n", what);
  std::abort();
}

void __throw_length_error(const char *what) { giveUp(what); }
void __throw_logic_error(const char *what) { giveUp(what); }
void __throw_out_of_range_fmt(const char *what, ...) { giveUp(what); }
void __throw_bad_alloc() { giveUp("out of memory"); }
void __throw_bad_array_new_length() { giveUp("array too long"); }

const nothrow_t nothrow{};

template class basic_string<char>;

} // namespace std

/// Stands in tables of virtual functions for those that a class leaves to others.
extern "C" void __cxa_pure_virtual() { std::giveUp("a function without a body was called"); }
