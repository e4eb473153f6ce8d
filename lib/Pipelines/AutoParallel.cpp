//===- AutoParallel.cpp - the best way to divide a program among ranks --------------------------------------------===//

#include "moe-mlir/Pipelines/AutoParallel.h"

#include "ProgramCost.h"

#include "moe-mlir/Pipelines/Parallel.h"
#include "moe-mlir/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace moe_mlir;

using Fields = std::vector<std::pair<std::string, std::string>>;

bool moe_mlir::isAutoParallel(StringRef text) { return text == "auto" || text.starts_with("auto,"); }

static const std::string *fieldOf(const Fields &fields, StringRef name) {
  auto found = llvm::find_if(fields, [&](const auto &field) { return field.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

static std::string textOf(const Fields &fields) {
  std::string text;
  for (const auto &[name, value] : fields)
    text += (text.empty() ? "" : ",") + name + "=" + value;
  return text;
}

/// The parts that divide ranks. Another one is a line here.
static constexpr StringLiteral kAxes[] = {"dp", "ep", "tp", "etp"};

std::optional<AutoParallel> moe_mlir::parseAutoParallel(StringRef text, std::string &error) {
  AutoParallel wanted;
  SmallVector<StringRef> fields;
  text.split(fields, ',');
  for (StringRef field : ArrayRef(fields).drop_front()) {
    auto [name, value] = field.split('=');
    int64_t *number = name == "ranks" ? &wanted.ranks : name == "batch" ? &wanted.batch : nullptr;
    if (!number) {
      wanted.fixed.push_back({name.str(), value.str()});
      if (field.contains('='))
        continue;
      error = ("expected fields as in auto,ranks=2,tp=2, got '" + field + "'").str();
      return std::nullopt;
    }
    if (value.getAsInteger(10, *number) || *number < 1 || *number > 1 << 16) {
      error = (name + " must be a number from 1 to 65536, got '" + value + "'").str();
      return std::nullopt;
    }
  }
  // What is fixed has to be a text of --parallel; one axis has to be there for that.
  Fields whole = wanted.fixed;
  if (llvm::none_of(kAxes, [&](StringRef axis) { return fieldOf(whole, axis); }))
    whole.push_back({"dp", "1"});
  if (parseParallel(textOf(whole), error))
    return wanted;
  if (StringRef(error).starts_with("unknown field"))
    error += ", and of auto ranks, batch";
  return std::nullopt;
}

Expected<sim::Cluster> moe_mlir::clusterToDivide(const AutoParallel &wanted, StringRef gpu, std::string &spec) {
  const std::string folder = sim::clusterFolder(), number = std::to_string(wanted.ranks);
  if (spec.empty() && !wanted.ranks)
    return createStringError("there is no number of ranks: add ranks=2, say, or the cluster, --cluster=8xH200");
  if (spec.empty() && gpu.empty()) {
    Expected<sim::Cluster> host = sim::findCluster("cpu", folder);
    if (host)
      host->ranksPerNode = wanted.ranks;
    return host;
  }
  if (spec.empty())
    spec = findCudaDevice(gpu)->key.str();
  if (wanted.ranks && !sim::saysRanks(spec))
    spec = number + "x" + spec;
  Expected<sim::Cluster> cluster = sim::findCluster(spec, folder);
  if (!cluster)
    return cluster;
  if (wanted.ranks && wanted.ranks != cluster->ranks())
    return createStringError("ranks=" + number + " contradicts --cluster=" + spec + "; leave one out");
  if (!sim::saysRanks(spec))
    spec = std::to_string(cluster->ranks()) + "x" + spec;
  return cluster;
}

//===----------------------------------------------------------------------===//
// Alternatives
//===----------------------------------------------------------------------===//

/// All texts for so many ranks, but those that parseParallel refuses.
static std::vector<std::string> enumerate(const AutoParallel &wanted, const sim::Cluster &cluster) {
  const int64_t ranks = cluster.ranks();
  std::vector<Fields> all(1);
  auto extend = [&](StringRef name, function_ref<std::vector<std::string>(const Fields &)> valuesFor) {
    std::vector<Fields> longer;
    for (const Fields &fields : all) {
      const std::string *fixed = fieldOf(wanted.fixed, name);
      for (const std::string &value : fixed ? std::vector<std::string>{*fixed} : valuesFor(fields)) {
        longer.push_back(fields);
        if (!value.empty() && (fixed || value != "1"))
          longer.back().push_back({name.str(), value});
      }
    }
    all = std::move(longer);
  };
  std::vector<std::string> divisors;
  for (int64_t divisor = 1; divisor <= ranks; ++divisor)
    if (ranks % divisor == 0)
      divisors.push_back(std::to_string(divisor));
  for (StringRef axis : kAxes)
    extend(axis, [&](const Fields &) { return divisors; });
  // Only rows that travel to experts can be divided.
  extend("tokens", [](const Fields &fields) {
    return fieldOf(fields, "ep") ? std::vector<std::string>{"split", "replicated"} : std::vector<std::string>{""};
  });
  extend("nodes", [&](const Fields &fields) {
    auto count = [&](StringRef axis) {
      const std::string *value = fieldOf(fields, axis);
      return value ? std::stoll(*value) : 1;
    };
    const std::string *tokens = fieldOf(fields, "tokens");
    const int64_t nodes = cluster.along(std::max(count("tp"), count("etp")), count("ep")).nodes;
    const bool canNest = 1 < nodes && nodes < count("ep") && !(tokens && *tokens == "replicated");
    return canNest ? std::vector<std::string>{"", std::to_string(nodes)} : std::vector<std::string>{""};
  });
  extend("groups", [](const Fields &fields) {
    const std::string *ep = fieldOf(fields, "ep"); // each rank sums at least one group
    return std::vector<std::string>{ep && std::stoll(*ep) > kDefaultGroups ? *ep : ""};
  });
  for (StringRef other : {"sums", "experts"})
    extend(other, [](const Fields &) { return std::vector<std::string>{""}; });
  std::vector<std::string> texts;
  for (Fields &fields : all) {
    if (llvm::none_of(kAxes, [&](StringRef axis) { return fieldOf(fields, axis); }))
      fields.insert(fields.begin(), {"ep", "1"});
    int64_t product = 1, shared = 1; // cheaper than to parse them all
    for (StringRef axis : kAxes)
      if (const std::string *value = fieldOf(fields, axis)) {
        const int64_t number = std::stoll(*value);
        if (axis == "tp" || axis == "etp")
          shared = std::max(shared, number);
        else
          product *= number;
      }
    if (product * shared != ranks)
      continue;
    std::string text = textOf(fields), error;
    std::optional<ParallelSpec> spec = parseParallel(text, error);
    if (spec && spec->copies * spec->ranks * spec->sharers() == ranks)
      texts.push_back(text);
  }
  return texts;
}

/// The program that `parallel` makes, as text of a pass pipeline says it.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>> divide(mlir::ModuleOp graph, StringRef parallel) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = graph.clone();
  std::string first;
  mlir::ScopedDiagnosticHandler handler(graph.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && first.empty()) {
      const std::string text = diagnostic.str();
      const auto [op, what] = StringRef(text).split("' op "); // which it is, is of no use without its place
      first = (op.starts_with("'") && !what.empty() ? what : StringRef(text)).str();
    }
    return mlir::success();
  });
  mlir::PassManager pm(graph.getContext());
  PipelineOptions options;
  options.parallel = parallel.str();
  if (failed(buildArrow(pm, Level::Graph, options)) || failed(pm.run(*copy)))
    return createStringError(first.empty() ? "it cannot be divided so" : first);
  return copy;
}

static Expected<ProgramCost> costOf(mlir::ModuleOp graph, StringRef parallel, CostModel &model) {
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> divided = divide(graph, parallel);
  return divided ? Expected<ProgramCost>(model.costOf(**divided)) : divided.takeError();
}

Expected<ProgramCost> moe_mlir::costOfParallel(mlir::ModuleOp graph, StringRef parallel, const sim::Cluster &cluster,
                                               const CallSize &call) {
  Expected<sim::Rates> rates = sim::ratesOf(cluster);
  if (!rates)
    return rates.takeError();
  CostModel model(cluster, *rates, call);
  return costOf(graph, parallel, model);
}

static std::string megabytes(double bytes) { return formatv("{0:f1} MB", bytes * 1e-6); }

Expected<std::vector<Alternative>> moe_mlir::compareAlternatives(mlir::ModuleOp graph, const AutoParallel &wanted,
                                                                 const sim::Cluster &cluster, int64_t tokens) {
  Expected<sim::Rates> rates = sim::ratesOf(cluster);
  if (!rates)
    return rates.takeError();
  const std::vector<std::string> texts = enumerate(wanted, cluster);
  const std::string given = textOf(wanted.fixed), who = std::to_string(cluster.ranks()) + " ranks";
  if (texts.empty())
    return createStringError("no way to divide the program among " + who + " has " + given);
  const CallSize call{tokens, wanted.batch};
  CostModel model(cluster, *rates, call);
  std::vector<Alternative> all;
  for (const std::string &text : texts) {
    Alternative &alternative = all.emplace_back();
    alternative.text = text;
    Expected<ProgramCost> cost = costOf(graph, text, model);
    if (!cost) {
      alternative.why = toString(cost.takeError());
      continue;
    }
    alternative.cost = *cost;
    if (cost->memory() > rates->memoryBytes)
      alternative.why = "a rank takes " + megabytes(cost->memory()) + " and has " + megabytes(rates->memoryBytes);
  }
  llvm::sort(all, [](const Alternative &a, const Alternative &b) {
    auto key = [](const Alternative &each) {
      return std::tuple(!each.why.empty(), each.cost.seconds, each.cost.memory(), StringRef(each.text));
    };
    return key(a) < key(b);
  });
  if (all.front().why.empty())
    return all;
  return createStringError("none of " + Twine(all.size()) + " ways to divide the program among " + who +
                           " can be taken; " + all.front().text + ": " + all.front().why);
}

std::string moe_mlir::describe(const ProgramCost &cost) {
  auto text = [](double seconds) -> std::string {
    return seconds < 1e-3 ? formatv("{0:f1} us", seconds * 1e6) : formatv("{0:f3} ms", seconds * 1e3);
  };
  return text(cost.seconds) + (cost.exchanged > 0 ? ", " + text(cost.exchanged) + " of it for exchanges" : "") + "; " +
         megabytes(cost.memory()) + " of each rank";
}
