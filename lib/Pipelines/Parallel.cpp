//===- Parallel.cpp - how a program is divided among ranks --------------------------------------------------------===//

#include "moe-mlir/Pipelines/Parallel.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace moe_mlir;

/// Of a job.
static constexpr int64_t kMostRanks = 1 << 16;

static bool parsePowerOfTwo(StringRef name, StringRef text, int64_t &value, std::string &error) {
  if (!text.getAsInteger(10, value) && value > 0 && isPowerOf2_64(value))
    return true;
  error = (name + " must be a power of two, got '" + text + "'").str();
  return false;
}

/// `what` of them: "ranks".
static bool parseCount(StringRef name, StringRef what, StringRef text, int64_t &value, std::string &error) {
  if (!text.getAsInteger(10, value) && value > 0)
    return true;
  error = (name + " must be a number of " + what + ", at least 1, got '" + text + "'").str();
  return false;
}

static bool parseField(StringRef name, StringRef value, ParallelSpec &spec, std::string &error) {
  if (name == "ep") { // a power of two, unless nodes say otherwise
    if (!value.getAsInteger(10, spec.ranks) && spec.ranks > 0)
      return true;
    return parsePowerOfTwo(name, value, spec.ranks, error);
  }
  if (name == "nodes")
    return parseCount(name, "nodes", value, spec.nodes, error);
  if (name == "etp")
    return parsePowerOfTwo(name, value, spec.slices, error);
  if (name == "tp")
    return parsePowerOfTwo(name, value, spec.tensors, error);
  if (name == "dp")
    return parseCount(name, "ranks", value, spec.copies, error);
  if (name == "groups") {
    int64_t &groups = spec.groups.emplace();
    if (!value.getAsInteger(10, groups) && groups > 0)
      return true;
    return parsePowerOfTwo(name, value, groups, error);
  }
  if (name == "experts") {
    // Texts of pipelines cannot hold these.
    if (value.find_first_of("\"'{}") == StringRef::npos)
      return (spec.experts = ExpertOrders::read(value, error)) != nullptr;
    error = "experts must be the name of a file without quotes and braces";
    return false;
  }
  if (name == "sums") {
    if (value != "f32" && value != "bf16") {
      error = ("sums must be f32 or bf16, got '" + value + "'").str();
      return false;
    }
    spec.sums = value == "f32" ? ParallelSpec::Sums::F32 : ParallelSpec::Sums::BF16;
    return true;
  }
  if (name == "schedule") {
    error = "schedule is a field of --variant; layers that are divided as --parallel says get theirs at level "
            "scheduled";
    return false;
  }
  if (name != "tokens") {
    error = ("unknown field '" + name + "'; one of dp, ep, nodes, etp, tp, tokens, groups, sums, experts").str();
    return false;
  }
  if (value != "split" && value != "replicated") {
    error = ("tokens must be split or replicated, got '" + value + "'").str();
    return false;
  }
  spec.tokens = value == "split" ? ParallelSpec::Tokens::Split : ParallelSpec::Tokens::Replicated;
  return true;
}

/// Nothing, or why some rank has no group to sum, or a sum of its own that is no branch of the tree.
static std::string whyNotGrouped(const ParallelSpec &spec) {
  if (!spec.groups)
    return "";
  const std::string groups = std::to_string(*spec.groups), ranks = std::to_string(spec.ranks);
  if (isPowerOf2_64(spec.ranks) && !isPowerOf2_64(*spec.groups))
    return "groups must be a power of two, got '" + groups + "'";
  if (*spec.groups < spec.ranks)
    return "groups=" + groups + " is less than ep=" + ranks + ", but each rank sums at least one group";
  if (*spec.groups % spec.ranks || !isPowerOf2_64(*spec.groups / spec.ranks))
    return "groups=" + groups + " must be ep=" + ranks + " times a power of two";
  return "";
}

/// Nothing, or why the ranks of `ep` are no nodes of ranks whose sums are branches of one tree.
static std::string whyNotNodes(const ParallelSpec &spec) {
  const std::string ranks = std::to_string(spec.ranks), nodes = std::to_string(spec.nodes);
  if (spec.ranks % spec.nodes)
    return "nodes=" + nodes + " does not divide ep=" + ranks + " equally";
  if (spec.nodes > 1 && spec.tokens == ParallelSpec::Tokens::Replicated)
    return "nodes=" + nodes + " is for tokens that travel to their experts, and with tokens=replicated each rank has "
           "all of them; leave nodes out";
  if (isPowerOf2_64(spec.ranks / spec.nodes) && (spec.isNested() || isPowerOf2_64(spec.ranks)))
    return "";
  if (spec.nodes == 1)
    return "ep must be a power of two, got '" + ranks + "'";
  return "a node has " + std::to_string(spec.ranks / spec.nodes) + " of ep=" + ranks + " ranks with nodes=" + nodes +
         ", but must have a power of two" + (spec.isNested() ? "" : ", more than one where nodes are no power of two");
}

std::optional<ParallelSpec> moe_mlir::parseParallel(StringRef text, std::string &error) {
  ParallelSpec spec;
  SmallVector<StringRef> fields;
  SmallSet<StringRef, 4> seen;
  text.split(fields, ',');
  for (StringRef field : fields) {
    auto [name, value] = field.split('=');
    if (!field.contains('=')) {
      error = ("expected fields as in ep=4,tokens=split,groups=8, got '" + field + "'").str();
      return std::nullopt;
    }
    if (!parseField(name, value, spec, error))
      return std::nullopt;
    if (!seen.insert(name).second) {
      error = (name + " is given twice").str();
      return std::nullopt;
    }
  }
  if (!seen.contains("ep") && !seen.contains("etp") && !seen.contains("tp") && !seen.contains("dp")) {
    error = "there is no number of ranks: ep=4 for ranks that share the experts, etp=2 for ranks that share each "
            "expert, tp=2 for ranks that share attention and dense layers, dp=2 for ranks that share the batch";
    return std::nullopt;
  }
  if (spec.tensors > 1 && spec.slices > 1 && spec.tensors != spec.slices) {
    error = "tp=" + std::to_string(spec.tensors) + " and etp=" + std::to_string(spec.slices) +
            " do not fit: the ranks that share attention and dense layers are those that share each expert, so give "
            "both one number, or leave one out";
    return std::nullopt;
  }
  int64_t ranks;
  if (MulOverflow(spec.copies, spec.ranks, ranks) || MulOverflow(ranks, spec.sharers(), ranks) || ranks > kMostRanks) {
    error = "these are more than " + std::to_string(kMostRanks) + " ranks";
    return std::nullopt;
  }
  error = whyNotNodes(spec);
  if (error.empty())
    error = whyNotGrouped(spec);
  return error.empty() ? std::optional(spec) : std::nullopt;
}

std::string moe_mlir::inheritNumbers(ParallelSpec &spec, const ParallelSpec &first) {
  const int64_t groups = first.groups.value_or(kDefaultGroups);
  if (spec.groups && *spec.groups != groups)
    return "groups=" + std::to_string(*spec.groups) + " is another order of sums than that of --parallel, groups=" +
           std::to_string(groups) + "; variants give the same numbers, so say it there";
  const auto sums = first.sums.value_or(ParallelSpec::Sums::F32);
  if (spec.sums && *spec.sums != sums)
    return std::string("sums=") + (sums == ParallelSpec::Sums::F32 ? "bf16" : "f32") +
           " rounds in another way than --parallel; variants give the same numbers, so say it there";
  if (spec.ranks != first.ranks && !(isPowerOf2_64(spec.ranks) && isPowerOf2_64(first.ranks)))
    return "ep=" + std::to_string(spec.ranks) + " sums in another order than ep=" + std::to_string(first.ranks) +
           " of --parallel, as one of them is no power of two; variants give the same numbers";
  spec.groups = first.groups;
  spec.sums = first.sums;
  if (!spec.experts)
    spec.experts = first.experts;
  return whyNotGrouped(spec);
}

std::string moe_mlir::whyNotSliced(const ParallelSpec &spec, int64_t hidden) {
  if (hidden % spec.slices == 0)
    return "";
  return "etp=" + std::to_string(spec.slices) + " does not divide the hidden width " + std::to_string(hidden) +
         " of an expert equally";
}

std::optional<int64_t> moe_mlir::sumGroups(const ParallelSpec &spec, int64_t experts, std::string &error) {
  const std::string layer = "a layer of " + std::to_string(experts) + " experts";
  if (experts % spec.ranks) {
    error = "ep=" + std::to_string(spec.ranks) + " does not divide " + layer + " equally";
    return std::nullopt;
  }
  if (spec.groups) {
    if (experts % *spec.groups == 0)
      return *spec.groups;
    error = "groups=" + std::to_string(*spec.groups) + " does not divide " + layer + " equally";
    return std::nullopt;
  }
  if (!isPowerOf2_64(spec.ranks))
    return spec.ranks;
  if (spec.ranks > kDefaultGroups) {
    error = "ep=" + std::to_string(spec.ranks) + " is more than the " + std::to_string(kDefaultGroups) +
            " groups that sums have; add groups=" + std::to_string(spec.ranks);
    return std::nullopt;
  }
  return std::min(kDefaultGroups, experts & -experts);
}
