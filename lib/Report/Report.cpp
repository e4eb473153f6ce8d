//===- Report.cpp - what each layer of a program costs ------------------------------------------------------------===//

#include "moe-mlir/Report/Report.h"
#include "Accesses.h"
#include "Exchanges.h"
#include "GpuKernels.h"
#include "Programs.h"
#include "Totals.h"

#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace moe_mlir;

/// Tokens of a prefill that generation is reported at, unless half of the cache is less; the same position is decoded.
static constexpr int64_t prefillTokens = 128;
/// What is no language model is counted at these sizes. The largest is one that keeps a GPU busy.
static constexpr int64_t cpuSizes[] = {prefillTokens, 1}, gpuSizes[] = {8192, prefillTokens, 1};

namespace {
class ReportBuilder {
public:
  explicit ReportBuilder(ModuleOp module) : module(module) {}

  /// Counts the launches of a host function.
  void add(func::FuncOp function);
  Report finish();

private:
  struct Expressions {
    SizeExpr rows, work, flops, weights, read, written;
    GpuWork gpu;
  };

  void readTarget();
  std::string moduleOf(kernel::LaunchOp launch) const;
  void addLaunch(kernel::LaunchOp launch, kernel::FuncOp kernel);
  int64_t addParameter(moe::ParameterOp parameter);
  void addVariant();
  LayerReport &layer(StringRef name);
  void choosePoints();
  std::vector<std::optional<int64_t>> valuesOf(const SizeExpr &expr) const;
  Quantity quantity(const SizeExpr &expr) const { return {table.toString(expr), valuesOf(expr)}; }
  void addTimes(LaunchReport &launch, const GpuWork &work) const;

  ModuleOp module;
  SizeTable table;
  llvm::StringMap<cuda::CudaLaunch> gpuLaunches; ///< by kernel
  // Of the function that is counted:
  func::FuncOp main;
  std::unique_ptr<HostSizes> sizes;
  unsigned launches = 0;

  std::vector<std::string> elements; ///< sizes that are elements of inputs
  Report report;
  std::vector<std::vector<Expressions>> expressions;            ///< by layer, in the order of its launches
  std::vector<PassCounts> passes;
  std::vector<BufferCounts> buffers;
  std::map<std::pair<std::string, std::string>, size_t> layers; ///< by entry and name
  std::string lastLayer;
  /// What a variant reads of the archive.
  struct Weights {
    llvm::DenseSet<std::tuple<Attribute, Attribute, Type>> parameters;
    int64_t bytes = 0;
  };
  std::vector<Weights> weights; ///< by variant
};
} // namespace

void ReportBuilder::readTarget() {
  if (auto name = module->getAttrOfType<StringAttr>("moe.name"))
    report.model = name.str();
  kernel::TargetAttrInterface target = kernel::targetOf(module);
  if (auto gpu = dyn_cast_or_null<cuda::TargetAttr>(target)) {
    report.gpu = gpu.getArch();
    report.tileRows = gpu.getRows();
    report.tileColumns = gpu.getColumns();
    report.device = &gpu.getNumbers();
    gpuLaunches = launchesOnGpu(module);
  }
  if (auto cpu = dyn_cast_or_null<x86::TargetAttr>(target)) {
    report.cpu = cpu.getCpu();
    report.tileRows = cpu.getRows();
    report.tileColumns = cpu.getColumns();
    report.vector = cpu.getVector();
    report.dotBf16 = cpu.getDotBf16();
    report.matrixRows = cpu.getMatrixRows();
  }
}

/// "model.layers.3" of "model.layers.3.mlp.gate": up to the first number, or all of it.
static StringRef layerOf(StringRef module) {
  for (size_t start = 0; start < module.size();) {
    size_t end = std::min(module.find('.', start), module.size());
    StringRef part = module.slice(start, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return module.take_front(end);
    start = end + 1;
  }
  return module;
}

/// The part of the model that a launch comes from: of its location, or of the weights that it reads. Names of nodes
/// have no dots.
std::string ReportBuilder::moduleOf(kernel::LaunchOp launch) const {
  std::string module;
  launch.getLoc()->walk([&](Location loc) {
    auto name = dyn_cast<NameLoc>(loc);
    if (!name || !name.getName().getValue().contains('.'))
      return WalkResult::advance();
    module = name.getName().str();
    return WalkResult::interrupt();
  });
  if (!module.empty())
    return module;
  for (Value operand : launch.getOperands_())
    if (isa<MemRefType>(operand.getType()))
      if (auto parameter = kernel::getViewRoot(operand).getDefiningOp<moe::ParameterOp>())
        if (!parameter.getSources().empty())
          return cast<StringAttr>(parameter.getSources()[0]).getValue().rsplit('.').first.str();
  if (auto load = launch->getAttrOfType<DictionaryAttr>("moe.expert_load"))
    if (auto name = load.getAs<StringAttr>("layer"))
      return name.str();
  return "";
}

LayerReport &ReportBuilder::layer(StringRef name) {
  std::string entry = main.getSymName().str();
  auto [it, isNew] = layers.try_emplace({entry, name.str()}, report.layers.size());
  if (isNew) {
    report.layers.push_back({name.str(), entry, 0, {}});
    expressions.emplace_back();
  }
  return report.layers[it->second];
}

/// Bytes in the archive, where equal parameters are one tensor.
int64_t ReportBuilder::addParameter(moe::ParameterOp parameter) {
  auto type = cast<ShapedType>(parameter.getType());
  Weights &own = weights[report.variantOf(main.getName())];
  if (!own.parameters.insert({parameter.getSources(), parameter.getRecipeAttr(), parameter.getType()}).second)
    return 0;
  const int64_t bytes = type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  own.bytes += bytes;
  return bytes;
}

void ReportBuilder::addVariant() {
  if (auto own = moe::variantOf(main)) {
    auto isOwn = [&](const VariantReport &each) { return each.name == own.getName(); };
    auto known = llvm::find_if(report.variants, isOwn);
    if (known == report.variants.end())
      known = report.variants.insert(known, {own.getName().str(), {}, 0});
    known->entries[main.getName()] = own.getEntry().str();
  }
  weights.resize(std::max<size_t>(report.variants.size(), 1));
}

void ReportBuilder::addLaunch(kernel::LaunchOp launch, kernel::FuncOp kernel) {
  LaunchReport entry;
  entry.number = launches++;
  entry.kernel = launch.getKernel().str();
  entry.module = moduleOf(launch);
  entry.program = describeProgram(kernel, report.dotBf16, report.matrixRows > 0);
  if (!report.gpu.empty() && entry.program.tile && entry.program.dtype != "f32")
    entry.program.instruction = "wgmma";
  entry.program.single = launch.getSingle();
  if (Attribute plan = kernel->getAttr(kernel::planAttrName))
    llvm::raw_string_ostream(entry.plan) << plan;

  Traffic traffic = countTraffic(launch, kernel, *sizes, table);
  Expressions counts;
  // Each pass is counted as if it were full.
  scf::ForOp loop = kernel::passesAround(launch);
  const SizeExpr passes = loop ? sizes->scalar(loop.getUpperBound()) : SizeExpr(1);
  counts.rows = sizes->scalar(launch.getRows()) * passes;
  counts.work = sizes->scalar(launch.getWork()) * passes;
  if (computesFloats(kernel))
    counts.flops = counts.work;
  counts.weights = traffic.weights * passes;
  counts.read = traffic.read * passes;
  counts.written = traffic.written * passes;
  if (auto shape = gpuLaunches.find(entry.kernel); shape != gpuLaunches.end()) {
    counts.gpu = gpuWorkOf(launch, kernel, shape->second, *sizes, table);
    entry.gpu = describeGpuKernel(counts.gpu, shape->second);
  }
  // What names no part of the model (a copy, arithmetic on positions) belongs to what was there before it.
  if (!entry.module.empty())
    lastLayer = layerOf(entry.module).str();
  LayerReport &own = layer(lastLayer.empty() ? main.getSymName() : StringRef(lastLayer));
  for (Value operand : launch.getOperands_())
    if (isa<MemRefType>(operand.getType()))
      if (auto parameter = kernel::getViewRoot(operand).getDefiningOp<moe::ParameterOp>())
        own.weightBytes += addParameter(parameter);
  own.launches.push_back(std::move(entry));
  expressions[&own - report.layers.data()].push_back(std::move(counts));
}

void ReportBuilder::choosePoints() {
  auto generation = module->getAttrOfType<DictionaryAttr>("moe.generation");
  auto inputOf = [&](StringRef role) -> BlockArgument {
    auto name = generation ? generation.getAs<StringAttr>(role) : StringAttr();
    for (BlockArgument argument : main.getArguments())
      if (name && !name.empty() && sizes->inputName(argument) == name.getValue())
        return argument;
    return {};
  };
  auto nameOf = [&](BlockArgument argument, int64_t dim) -> std::string {
    auto type = argument ? dyn_cast<MemRefType>(argument.getType()) : MemRefType();
    if (!type || dim >= type.getRank() || !type.isDynamicDim(dim))
      return "";
    return table.toString(sizes->size(argument, dim));
  };
  auto add = [](ReportPoint &point, const std::string &name, int64_t value) {
    if (!name.empty())
      point.sizes.emplace_back(name, value);
  };
  if (BlockArgument tokens = inputOf("tokens")) {
    auto cache = generation.getAs<IntegerAttr>("cache_length");
    int64_t prompt =
        cache && cache.getInt() > 0 ? std::min(prefillTokens, std::max<int64_t>(1, cache.getInt() / 2)) : prefillTokens;
    BlockArgument position = inputOf("position");
    for (bool prefill : {true, false}) {
      ReportPoint point{prefill ? "prefill" : "decode", {}};
      add(point, nameOf(tokens, 0), 1);
      add(point, nameOf(tokens, 1), prefill ? prompt : 1);
      add(point, nameOf(inputOf("keep"), 0), 1);
      if (position)
        add(point, sizes->inputName(position), prefill ? 0 : prompt);
      report.points.push_back(std::move(point));
    }
    return;
  }
  // No language model: every size alike, every integer that sizes depend on 0.
  std::vector<std::string> names = table.names();
  llvm::erase_if(names, [](StringRef name) { return name == "blocks" || name.starts_with("unknown"); });
  if (names.empty()) {
    report.points.push_back({"call", {}});
    return;
  }
  for (int64_t size : report.gpu.empty() ? ArrayRef<int64_t>(cpuSizes) : ArrayRef<int64_t>(gpuSizes)) {
    ReportPoint point{"size " + std::to_string(size), {}};
    for (const std::string &name : names)
      add(point, name, llvm::is_contained(elements, name) ? 0 : size);
    report.points.push_back(std::move(point));
  }
}

std::vector<std::optional<int64_t>> ReportBuilder::valuesOf(const SizeExpr &expr) const {
  std::vector<std::optional<int64_t>> result;
  for (const ReportPoint &point : report.points) {
    llvm::StringMap<int64_t> values;
    for (const auto &[name, value] : point.sizes)
      values[name] = value;
    result.push_back(table.evaluate(expr, values));
  }
  return result;
}

void ReportBuilder::addTimes(LaunchReport &launch, const GpuWork &work) const {
  const std::vector<std::optional<int64_t>> blocks = valuesOf(work.blocks);
  for (size_t point = 0; point < report.points.size(); ++point) {
    std::optional<double> &estimate = launch.gpu->estimate.emplace_back(), &floor = launch.gpu->floor.emplace_back();
    std::vector<GpuTerm> &terms = launch.gpu->terms.emplace_back();
    const Totals totals = totalsOf(launch, point);
    const std::optional<int64_t> rows = launch.rows.values[point];
    if (!report.device || !rows || !totals.flops || !totals.bytes())
      continue;
    // Without the number of blocks there is no estimate, but a floor.
    CudaEstimate time =
        timeOnGpu(*report.device, work, *rows, *totals.flops, *totals.bytes(), blocks[point].value_or(1));
    floor = time.floor;
    if (!blocks[point])
      continue;
    estimate = time.seconds;
    for (const CudaTerm &term : time.terms)
      terms.push_back({term.name.str(), term.seconds});
  }
}

void ReportBuilder::add(func::FuncOp function) {
  if (report.layers.empty())
    readTarget();
  main = function;
  addVariant();
  sizes = std::make_unique<HostSizes>(main, table);
  launches = 0;
  lastLayer.clear();
  SymbolTable symbols(module);
  main.walk([&](kernel::LaunchOp launch) {
    if (auto kernel = symbols.lookup<kernel::FuncOp>(launch.getKernel()))
      addLaunch(launch, kernel);
  });
  llvm::append_range(passes, passesOf(main, *sizes));
  llvm::append_range(buffers, buffersOf(main, *sizes, table));
  if (report.device)
    llvm::append_range(report.groups, groupsOf(main, report.device->multiprocessors));
  // Parameters that no launch reads (the program returns them, or they are left over) are in the archive as well.
  main.walk([&](moe::ParameterOp parameter) { addParameter(parameter); });
  llvm::append_range(elements, sizes->elements());
}

Report ReportBuilder::finish() {
  report.weightBytes = weights[0].bytes;
  for (auto [variant, own] : llvm::zip(report.variants, weights))
    variant.weightBytes = own.bytes;
  choosePoints();
  for (auto [layer, counted] : llvm::zip_equal(report.layers, expressions))
    for (auto [launch, counts] : llvm::zip_equal(layer.launches, counted)) {
      launch.rows = quantity(counts.rows);
      launch.work = quantity(counts.work);
      launch.flops = quantity(counts.flops);
      launch.weights = quantity(counts.weights);
      launch.read = quantity(counts.read);
      launch.written = quantity(counts.written);
      if (launch.gpu)
        addTimes(launch, counts.gpu);
    }
  for (PassCounts &counts : passes)
    report.passes.push_back(
        {std::move(counts.entry), std::move(counts.layer), counts.tokens, quantity(counts.passes)});
  for (BufferCounts &counts : buffers) {
    BufferReport &buffer = report.buffers.emplace_back();
    buffer.entry = std::move(counts.entry);
    buffer.grid = std::move(counts.grid);
    for (BufferCounts::Window &window : counts.windows)
      buffer.windows.push_back({std::move(window.name), std::move(window.type), quantity(window.bytes)});
    buffer.bytes = quantity(counts.bytes);
    buffer.published = quantity(counts.published);
  }
  return std::move(report);
}

std::string Report::titleOf(StringRef name, StringRef function) const {
  if (variants.empty())
    return name.str();
  const size_t number = variantOf(function);
  auto entry = variants[number].entries.find(function);
  const bool isEntry = name == function && entry != variants[number].entries.end();
  return (isEntry ? entry->second : name.str()) + ", variant " + std::to_string(number);
}

FailureOr<Report> moe_mlir::makeReport(ModuleOp module) {
  ReportBuilder builder(module);
  bool hasHost = false;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal()) {
      builder.add(function);
      hasHost = true;
    }
  if (!hasHost)
    return emitError(module.getLoc()) << "module has no host function @main, nor one of another name";
  return builder.finish();
}

void moe_mlir::addRegisters(Report &report, const llvm::StringMap<int64_t> &registers) {
  for (LayerReport &layer : report.layers)
    for (LaunchReport &launch : layer.launches)
      if (auto it = registers.find(launch.kernel); launch.gpu && it != registers.end())
        launch.gpu->registers = it->second;
}
