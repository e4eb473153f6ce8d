//===- ShapeRules.cpp - the shape of a call's result, from its operands -------------------------------------------===//

#include "ShapeRules.h"
#include "StatedSizes.h"
#include "moe-mlir/Dialect/Aten/IR/Einsum.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mlir;
using namespace moe_mlir::pt2;
using aten::CallOp;

using Sizes = SmallVector<int64_t>;
using Rule = std::optional<Sizes> (*)(CallOp call, unsigned result);

static Sizes sizesOf(CallOp call, StringRef argument) {
  Value value = call.getValue(argument);
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  return type ? Sizes(type.getShape()) : Sizes();
}

/// The dimension that an argument names, or the default of the operator if it is absent.
static std::optional<int64_t> dimOf(CallOp call, StringRef name, int64_t rank, int64_t absent = 0) {
  if (!call.getArgument(name))
    return rank == 0 ? std::nullopt : std::optional(absent < 0 ? absent + rank : absent);
  std::optional<int64_t> dim = call.getDim(name, rank);
  return dim && *dim < rank ? dim : std::nullopt;
}

static std::optional<Sizes> unsqueeze(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  if (std::optional<int64_t> dim = dimOf(call, "dim", sizes.size() + 1))
    return sizes.insert(sizes.begin() + *dim, 1), sizes;
  return std::nullopt;
}

static std::optional<Sizes> select(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  if (std::optional<int64_t> dim = dimOf(call, "dim", sizes.size()))
    return sizes.erase(sizes.begin() + *dim), sizes;
  return std::nullopt;
}

static std::optional<Sizes> squeeze(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self"), kept;
  std::optional<Sizes> dims = call.getInts("dim");
  for (int64_t dim = 0, rank = sizes.size(); dim < rank; ++dim)
    if (sizes[dim] != 1 || (dims && !is_contained(*dims, dim) && !is_contained(*dims, dim - rank)))
      kept.push_back(sizes[dim]);
  return kept;
}

static std::optional<Sizes> transpose(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  bool t = call.getBase() == "aten.t";
  std::optional<int64_t> first = t ? 0 : dimOf(call, "dim0", sizes.size()),
                         second = t ? 1 : dimOf(call, "dim1", sizes.size());
  if (t && sizes.size() < 2)
    return sizes;
  if (!first || !second)
    return std::nullopt;
  std::swap(sizes[*first], sizes[*second]);
  return sizes;
}

static std::optional<Sizes> permute(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self"), moved;
  std::optional<Sizes> dims = call.getInts("dims");
  if (!dims)
    return std::nullopt;
  for (int64_t dim : *dims)
    moved.push_back(sizes[dim < 0 ? dim + sizes.size() : dim]);
  return moved;
}

static std::optional<Sizes> slice(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  std::optional<int64_t> dim = dimOf(call, "dim", sizes.size());
  if (!dim)
    return std::nullopt;
  int64_t whole = sizes[*dim], step = call.getInt("step").value_or(call.getArgument("step") ? 0 : 1);
  auto bound = [&](StringRef name, int64_t absent) {
    return call.getArgument(name) ? call.getInt(name) : std::optional(absent);
  };
  std::optional<int64_t> start = bound("start", 0), end = bound("end", INT64_MAX);
  if (start == 0 && end == INT64_MAX && step == 1)
    return sizes;
  sizes[*dim] = kAnySize;
  if (whole == ShapedType::kDynamic || !start || !end || step < 1)
    return sizes;
  auto clamp = [&](int64_t value) { return std::clamp<int64_t>(value < 0 ? value + whole : value, 0, whole); };
  sizes[*dim] = divideCeil(std::max<int64_t>(clamp(*end) - clamp(*start), 0), step);
  return sizes;
}

/// split, split_with_sizes, chunk, topk, index_select, narrow: another size in one dimension.
static std::optional<Sizes> resize(CallOp call, unsigned result) {
  StringRef base = call.getBase();
  Sizes sizes = sizesOf(call, "self");
  std::optional<int64_t> dim = dimOf(call, "dim", sizes.size(), base == "aten.topk" ? -1 : 0);
  if (!dim)
    return std::nullopt;
  const int64_t whole = sizes[*dim];
  sizes[*dim] = kAnySize;
  if (base == "aten.topk")
    sizes[*dim] = call.getInt("k").value_or(kAnySize);
  if (base == "aten.narrow")
    if (auto type = dyn_cast<RankedTensorType>(call.getResult(result).getType());
        type && type.getRank() == int64_t(sizes.size()) && !type.isDynamicDim(*dim))
      sizes[*dim] = call.getInt("length").value_or(kAnySize); // else an expression of where it starts
  if (base == "aten.split" || base == "aten.chunk")
    sizes[*dim] = pieceOf(call, result, *dim, whole);
  std::optional<Sizes> parts = call.getInts("split_sizes");
  if (parts && result < parts->size())
    sizes[*dim] = (*parts)[result];
  return sizes;
}

static std::optional<Sizes> reduce(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self"), kept;
  if (call.getArgument("other"))
    return std::nullopt; // of two tensors
  Sizes dims = call.getInts("dim").value_or(Sizes());
  bool keep = call.getBool("keepdim").value_or(false);
  for (int64_t dim = 0, rank = sizes.size(); dim < rank; ++dim) {
    bool reduced = dims.empty() || is_contained(dims, dim) || is_contained(dims, dim - rank);
    if (!reduced || keep)
      kept.push_back(reduced ? 1 : sizes[dim]);
  }
  return kept;
}

/// cat and stack of tensors of one rank.
static std::optional<Sizes> join(CallOp call, unsigned) {
  auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("tensors"));
  if (!list || list.empty())
    return std::nullopt;
  bool stack = call.getBase() == "aten.stack";
  Sizes sizes(cast<RankedTensorType>(call.getOperandOf(list[0]).getType()).getShape());
  std::optional<int64_t> dim = dimOf(call, "dim", sizes.size() + stack);
  if (!dim)
    return std::nullopt;
  if (stack)
    return sizes.insert(sizes.begin() + *dim, list.size()), sizes;
  int64_t sum = 0;
  for (Attribute tensor : list) {
    int64_t size = cast<RankedTensorType>(call.getOperandOf(tensor).getType()).getDimSize(*dim);
    sum = sum == kAnySize || size == ShapedType::kDynamic ? kAnySize : sum + size;
  }
  sizes[*dim] = sum;
  return sizes;
}

/// Rows with another last dimension.
static std::optional<Sizes> withColumns(Sizes rows, int64_t columns) {
  if (rows.empty())
    return std::nullopt;
  rows.back() = columns;
  return rows;
}

static std::optional<Sizes> product(CallOp call, unsigned) {
  StringRef base = call.getBase();
  if (base == "aten.linear")
    return withColumns(sizesOf(call, "input"), sizesOf(call, "weight")[0]);
  if (base == "aten.addmm")
    return withColumns(sizesOf(call, "mat1"), sizesOf(call, "mat2")[1]);
  return withColumns(sizesOf(call, "self"), sizesOf(call, "mat2").back());
}

/// mv and addmv: a number for each row of the matrix.
static std::optional<Sizes> vectorProduct(CallOp call, unsigned) {
  Sizes matrix = sizesOf(call, call.getBase() == "aten.addmv" ? "mat" : "self");
  return matrix.size() == 2 ? std::optional(Sizes{matrix[0]}) : std::nullopt;
}

/// A letter has the size of the operands that it stands in; of one that is 1 and another one, the other one.
static std::optional<Sizes> einsum(CallOp call, unsigned) {
  bool fits = false;
  std::optional<aten::Einsum> einsum = aten::parseEinsum(call, fits);
  if (!einsum)
    return std::nullopt;
  Sizes sizes;
  for (char letter : einsum->result) {
    std::optional<int64_t> size;
    for (auto [operand, letters] : zip_equal(einsum->operands, einsum->letters)) {
      size_t dim = letters.find(letter);
      if (dim == std::string::npos)
        continue;
      int64_t own = cast<RankedTensorType>(operand.getType()).getDimSize(dim);
      size = !size || *size == 1 || *size == own ? own : own == 1 ? *size : kAnySize;
    }
    sizes.push_back(*size);
  }
  return sizes;
}

static std::optional<Sizes> oneHot(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  std::optional<int64_t> classes = call.getInt("num_classes");
  sizes.push_back(classes && *classes > 0 ? *classes : kAnySize);
  return sizes;
}

static std::optional<Sizes> attention(CallOp call, unsigned) {
  Sizes values = sizesOf(call, "value");
  return values.empty() ? std::nullopt : withColumns(sizesOf(call, "query"), values.back());
}

static std::optional<Sizes> embedding(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "indices");
  sizes.push_back(sizesOf(call, "weight")[1]);
  return sizes;
}

static std::optional<Sizes> matmul(CallOp call, unsigned) {
  Sizes a = sizesOf(call, "self"), b = sizesOf(call, "other");
  if (a.empty() || b.empty())
    return std::nullopt;
  bool row = a.size() == 1, column = b.size() == 1;
  Sizes rows(a), columns(b);
  int64_t n = column ? 0 : columns.back();
  rows.pop_back();
  columns.pop_back();
  if (!column)
    columns.pop_back();
  int64_t m = row ? 0 : rows.pop_back_val();
  Sizes sizes;
  for (size_t back = std::max(rows.size(), columns.size()); back > 0; --back) {
    int64_t x = back <= rows.size() ? rows[rows.size() - back] : 1;
    int64_t y = back <= columns.size() ? columns[columns.size() - back] : 1;
    bool dynamic = x == ShapedType::kDynamic || y == ShapedType::kDynamic;
    sizes.push_back(dynamic ? kAnySize : x == 1 ? y : x);
  }
  if (!row)
    sizes.push_back(m);
  if (!column)
    sizes.push_back(n);
  return sizes;
}

static std::optional<Sizes> flatten(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  std::optional<int64_t> start = dimOf(call, "start_dim", sizes.size()), end = dimOf(call, "end_dim", sizes.size(), -1);
  if (!start || !end || *end < *start)
    return std::nullopt;
  Sizes joined(sizes.begin(), sizes.begin() + *start);
  joined.push_back(kAnySize);
  joined.append(sizes.begin() + *end + 1, sizes.end());
  return joined;
}

/// A row for each step, and the next state.
static std::optional<Sizes> scan(CallOp call, unsigned result) { return sizesOf(call, result ? "state" : "value"); }

/// Pairs of numbers of new elements, from the last dimension on.
static std::optional<Sizes> pad(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "self");
  std::optional<Sizes> pads = call.getInts("pad");
  auto tooMany = [](int64_t count) { return std::abs(count) > int64_t(1) << 31; };
  if (!pads || pads->size() % 2 || pads->size() > 2 * sizes.size() || any_of(*pads, tooMany))
    return std::nullopt;
  for (size_t i = 0; i < pads->size(); i += 2) {
    int64_t &size = sizes[sizes.size() - 1 - i / 2];
    bool same = (*pads)[i] == 0 && (*pads)[i + 1] == 0;
    size = same ? size : size == ShapedType::kDynamic ? kAnySize : size + (*pads)[i] + (*pads)[i + 1];
  }
  return sizes;
}

static std::optional<Sizes> convolution(CallOp call, unsigned) {
  Sizes sizes = sizesOf(call, "input"), weight = sizesOf(call, "weight");
  auto single = [&](StringRef name, int64_t absent) -> std::optional<int64_t> {
    std::optional<Sizes> numbers = call.getArgument(name) ? call.getInts(name) : Sizes{absent};
    return numbers && numbers->size() == 1 ? std::optional((*numbers)[0]) : std::nullopt;
  };
  std::optional<int64_t> stride = single("stride", 1), padding = single("padding", 0), dilation = single("dilation", 1);
  int64_t length = sizes[2];
  sizes[1] = weight[0];
  sizes[2] = kAnySize;
  constexpr int64_t most = int64_t(1) << 31; // numbers beyond it are left to the lowering
  bool known = length >= 0 && length < most && weight[2] > 0 && weight[2] < most && stride > 0 && padding >= 0 &&
               dilation > 0 && padding < most && dilation < most;
  if (int64_t room = known ? length + 2 * *padding - *dilation * (weight[2] - 1) - 1 : -1; room >= 0)
    sizes[2] = room / *stride + 1;
  return sizes;
}

/// eye(n) and eye(n, m).
static std::optional<Sizes> square(CallOp call, unsigned) {
  int64_t rows = call.getInt("n").value_or(kAnySize);
  return Sizes{rows, call.getArgument("m") ? call.getInt("m").value_or(kAnySize) : rows};
}

static std::optional<Sizes> number(CallOp, unsigned) { return Sizes(); }

std::optional<SmallVector<int64_t>> moe_mlir::pt2::getResultSizes(CallOp call, unsigned result) {
  static const StringMap<Rule> rules = [] {
    StringMap<Rule> table;
    for (auto [names, rule] :
         {std::pair<StringRef, Rule>("unsqueeze", unsqueeze),
          {"select unbind", select},
          {"squeeze", squeeze},
          {"transpose t", transpose},
          {"permute", permute},
          {"slice", slice},
          {"split split_with_sizes chunk topk index_select narrow", resize},
          {"sum mean amax any all argmax max linalg_vector_norm logsumexp var std", reduce},
          {"cat concat stack", join},
          {"embedding", embedding},
          {"linear mm bmm addmm", product},
          {"mv addmv", vectorProduct},
          {"einsum", einsum},
          {"one_hot", oneHot},
          {"scaled_dot_product_attention", attention},
          {"matmul", matmul},
          {"view reshape _unsafe_view expand broadcast_to new_zeros new_ones new_empty new_full zeros "
           "ones empty full",
           listed},
          {"flatten", flatten},
          {"pad constant_pad_nd", pad},
          {"conv1d", convolution},
          {"eye", square},
          {"unflatten", unflattened},
          {"repeat", repeated},
          {"arange", counted},
          {"scalar_tensor", number}}) {
      SmallVector<StringRef> list;
      names.split(list, ' ');
      for (StringRef name : list)
        table["aten." + name.str()] = rule;
    }
    table["moe_mlir.scan"] = scan;
    return table;
  }();
  Rule rule = rules.lookup(call.getBase());
  return rule ? rule(call, result) : std::nullopt;
}
