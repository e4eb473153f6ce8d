//===- wgmma.h - products of a warpgroup --------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_WGMMA_H
#define MOE_EMULATION_PRIMITIVES_WGMMA_H

namespace moe {

/// Holds NaN until it is set or a wgmma on it has been waited for.
template <int kN> struct Accumulators {
  float v[kN / 2];
  emulation::Registers state{v, kN};
  Accumulators() { memset(v, 0xff, sizeof v); }
  Accumulators(const Accumulators &) = delete;
  ~Accumulators() { emulation::drop(state); }
};

template <int kN> float get(Accumulators<kN> &d, int i, Where where = Where::current()) {
  emulation::touch(d.state, where);
  return d.v[i];
}
template <int kN> void set(Accumulators<kN> &d, int i, float x, Where where = Where::current()) {
  emulation::touch(d.state, where);
  d.v[i] = x;
}

inline void wgmmaFence() { emulation::wgmmaFence(); }
inline void wgmmaCommit(Where where = Where::current()) { emulation::wgmmaCommit(where); }

template <int kN>
void wgmmaBf16(Accumulators<kN> &d, uint64_t a, uint64_t b, bool accumulate, Where where = Where::current()) {
  emulation::wgmma(d.state, a, b, emulation::Element::Bf16, accumulate, where);
}
template <int kN>
void wgmmaF16(Accumulators<kN> &d, uint64_t a, uint64_t b, bool accumulate, Where where = Where::current()) {
  emulation::wgmma(d.state, a, b, emulation::Element::F16, accumulate, where);
}

template <int kPending> void wgmmaWait(Where where = Where::current()) { emulation::wgmmaWait(kPending, where); }
template <int kPending, int kN> void wgmmaWait(Accumulators<kN> &, Where where = Where::current()) {
  emulation::wgmmaWait(kPending, where);
}

} // namespace moe

#endif
