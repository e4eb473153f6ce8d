//===- Report.h - what each layer of a program costs --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_REPORT_REPORT_H
#define MOE_MLIR_REPORT_REPORT_H

#include "moe-mlir/Analysis/CudaDevices.h"
#include "moe-mlir/Dialect/Moe/IR/PlainLayers.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace moe_mlir {

/// Values of the run-time sizes at which a report gives numbers.
struct ReportPoint {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> sizes;
};

/// A number that may depend on run-time sizes.
struct Quantity {
  std::string expression;                     ///< over the names of sizes and scalar inputs
  std::vector<std::optional<int64_t>> values; ///< at each point; none if it depends on something else
};

/// How a kernel computes.
struct KernelProgram {
  bool tile = false;                              ///< products on register tiles; otherwise loops over elements
  std::vector<std::pair<int64_t, int64_t>> tiles; ///< rows and columns of each kind of tile
  unsigned accumulators = 0;                      ///< tiles that a step of the product updates
  std::string dtype;                              ///< of the product's operands, or of the first buffer written
  std::string instruction;                        ///< fma, dot (pairs of bf16), widened fma or wgmma; loops: none
  bool single = false;                            ///< one block runs it
};

/// What one resource takes for a launch by itself, in seconds.
struct GpuTerm {
  std::string name;
  double seconds = 0;
};

/// How a kernel uses a GPU, and how long a launch should take there, in seconds, at each point.
struct GpuKernel {
  struct Role {
    std::string name;
    int64_t threads = 0, registers = 0;
  };
  int64_t tileRows = 0, tileColumns = 0; ///< of a product; 0: it has none
  int64_t stages = 0;                    ///< steps of a product in shared memory at a time
  int64_t threads = 0;                   ///< of a block
  std::vector<Role> roles;               ///< of these threads, if they differ
  int64_t blocksPerMultiprocessor = 0;
  int64_t sharedBytes = 0;                     ///< of a block
  std::optional<int64_t> registers;            ///< of a thread when it starts, once the kernel is compiled
  std::vector<std::optional<double>> estimate; ///< by the cost model; none: it does not know, or sizes are unknown
  std::vector<std::optional<double>> floor;    ///< operations or bytes at the device's peak, whichever takes longer
  std::vector<std::vector<GpuTerm>> terms;     ///< of each estimate; none where there is no estimate
};

/// One launch. Bytes are those that a perfect cache would move: each element that the launch touches counts once.
struct LaunchReport {
  unsigned number = 0; ///< position among all launches of a call of its entry
  std::string kernel;
  std::string module; ///< of the model, as far as known
  KernelProgram program;
  std::string plan;             ///< of the kernel, as the IR has it; empty: it has none
  Quantity rows, work;          ///< as a trace reports them
  Quantity flops;               ///< the work, if the kernel computes on floats; 0 if it only moves elements
  Quantity weights;             ///< bytes read from the archive
  Quantity read, written;       ///< bytes of inputs, states and buffers
  std::optional<GpuKernel> gpu; ///< of a program for a GPU
};

struct LayerReport {
  std::string name;
  std::string entry;       ///< the host function that runs it
  int64_t weightBytes = 0; ///< in the archive; what several layers share counts in the first
  std::vector<LaunchReport> launches;
};

/// When an expert layer on several ranks sends and multiplies, and what the simulator says that it takes, in seconds.
struct ScheduleReport {
  std::string name, entry;  ///< as of a layer
  std::string schedule;     ///< in the words of the IR
  std::string machine;      ///< that is simulated, and for how many tokens
  double estimate = 0;      ///< of the schedule
  double plain = 0;         ///< without overlap
  double floor = 0;         ///< products, or the exchange beside each, whichever takes longer
  double hidden = 0;        ///< part of the exchange that does not make the layer longer, 0 to 1
  std::string why;          ///< not empty: why it was not simulated, and there are no times
};

/// A way to divide a program among ranks, and what the cost model says that a rank takes, in seconds and bytes.
struct DivisionReport {
  std::string parallel; ///< text of --parallel
  double estimate = 0;
  double exchanged = 0; ///< seconds of exchanges, beside those of layers that are simulated
  double memory = 0;
  std::string why;      ///< not empty: why it cannot be taken
};

struct ParallelReport {
  std::string machine; ///< that it is estimated for, and how many tokens
  DivisionReport chosen;
  std::vector<DivisionReport> alternatives; ///< with --parallel=auto, the chosen one first
};

/// What runs at the same time on a GPU, and on how many blocks.
struct GroupReport {
  struct Member {
    std::string kernel;
    int64_t blocks = 0;
    int64_t phases = 1;
  };
  std::string entry;
  std::string phase; ///< what it is for: "model.layers.0.mlp: rows to experts"
  std::vector<Member> members;
};

/// An exchange that is done for some of the tokens at a time.
struct PassReport {
  std::string entry, layer;
  int64_t tokens = 0; ///< of each rank in a pass, at most
  Quantity passes;
};

/// Memory that the ranks of a grid write to, of one shape on each: all windows of an entry.
struct BufferReport {
  struct Window {
    std::string name, type;
    Quantity bytes;
  };
  std::string entry, grid;
  std::vector<Window> windows;
  Quantity bytes;     ///< of all
  Quantity published; ///< of COMET's buffer (section 4): the tokens of all ranks in 16 bits; 0: no rows are exchanged
};

/// One of several ways in which ranks run the program.
struct VariantReport {
  std::string name;
  llvm::StringMap<std::string> entries; ///< what its functions are variants of
  int64_t weightBytes = 0;              ///< as of a report, of what it reads
};

struct Report {
  std::string model, cpu; ///< empty if the module does not say
  std::string gpu;        ///< as NVRTC calls it; empty: kernels are for the CPU
  int64_t tileRows = 0, tileColumns = 0, vector = 0;
  bool dotBf16 = false;
  int64_t matrixRows = 0;             ///< of a CPU: rows of a product of bf16 on matrix registers, 0 without them
  const CudaDevice *device = nullptr; ///< the GPU that times are for
  std::vector<ReportPoint> points;
  std::vector<LayerReport> layers;          ///< in the order of their first launch
  std::vector<VariantReport> variants;      ///< none: the program has one way to run
  int64_t weightBytes = 0;                  ///< of all tensors of the archive; with variants, what the first one reads
  std::vector<mlir::moe::PlainLayer> plain; ///< layers that run as plain operations
  std::optional<ParallelReport> division;   ///< where a cluster is known, or --parallel=auto has chosen
  std::vector<ScheduleReport> schedules;    ///< of expert layers on several ranks, where a cluster is known
  std::vector<GroupReport> groups;          ///< for a GPU
  std::vector<PassReport> passes;           ///< in the order of their loops
  std::vector<BufferReport> buffers;        ///< of each entry and grid

  /// The variant that a function belongs to; 0 without variants.
  size_t variantOf(llvm::StringRef function) const {
    auto found = llvm::find_if(variants, [&](const VariantReport &each) { return each.entries.contains(function); });
    return found == variants.end() ? 0 : found - variants.begin();
  }
  /// `name` of a function, as people read it: "main", or "main, variant 1".
  std::string titleOf(llvm::StringRef name, llvm::StringRef function) const;
};

/// Counts what the launches of a module at level kernel do. The module is not changed. Emits an error if it has no host
/// function.
mlir::FailureOr<Report> makeReport(mlir::ModuleOp module);

/// States the registers of compiled kernels, by their names.
void addRegisters(Report &report, const llvm::StringMap<int64_t> &registers);

/// An aligned table: a line per layer, with its kernels below, and the totals. For a GPU, a second one.
void printReportTable(const Report &report, llvm::raw_ostream &os);

/// One JSON object; docs/Compiler.md describes it.
void printReportJson(const Report &report, llvm::raw_ostream &os);

} // namespace moe_mlir

#endif // MOE_MLIR_REPORT_REPORT_H
