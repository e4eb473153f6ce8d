//===- grid.h - a launch among multiprocessors and other launches -------------------------------------------------===//
//
// A block is a multiprocessor of its own, and launches follow one another.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_GRID_H
#define MOE_EMULATION_PRIMITIVES_GRID_H

namespace moe {

inline int multiprocessor() { return emulation::position.block; }
inline void allowDependents() {}
inline void waitPredecessors() {}

} // namespace moe

#endif
