//===- Output.h - a simulated run as a table, a picture and a trace -------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_OUTPUT_H
#define MOE_MLIR_SIMULATION_OUTPUT_H

#include "moe-mlir/Simulation/Simulate.h"

#include "llvm/Support/raw_ostream.h"

namespace moe_mlir::sim {

/// "qwen3-30b on 8 x H200, 8192 tokens per rank": of all outputs the title.
std::string titleOf(const Setup &setup);

/// Phases, bytes per link, what is hidden, and what bounds each kernel.
void printRun(const Setup &setup, const Schedule &schedule, const Run &run, llvm::raw_ostream &os);
/// The timeline of the rank that ends last, as SVG.
void plotRun(const Setup &setup, const Schedule &schedule, const Run &run, llvm::raw_ostream &os);
/// The same as a trace in JSON that Perfetto and chrome://tracing open.
void traceRun(const Setup &setup, const Schedule &schedule, const Run &run, llvm::raw_ostream &os);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_OUTPUT_H
