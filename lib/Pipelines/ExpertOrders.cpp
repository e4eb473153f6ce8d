//===- ExpertOrders.cpp - which expert stands at which place ------------------------------------------------------===//

#include "moe-mlir/Pipelines/ExpertOrders.h"

#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>

using namespace llvm;
using namespace moe_mlir;

static constexpr StringRef kMap = "physical_to_logical_map";

/// The order in `value`. None with a message in `error`, a part of a sentence that follows the file's name.
static std::optional<ExpertOrders::Order> readOrder(const JsonValue &value, const Twine &where, std::string &error) {
  auto fail = [&](const Twine &what) {
    error = (where + what).str();
    return std::nullopt;
  };
  const JsonArray *entries = value.getAsArray();
  if (!entries || entries->empty())
    return fail("expected the numbers of the experts, in order of their places");
  const int64_t count = entries->size();
  if (count > std::numeric_limits<int32_t>::max())
    return fail(Twine(count) + " experts are more than ids of 32 bits tell apart");
  ExpertOrders::Order order;
  std::vector<int64_t> places(count, -1);
  for (auto [place, entry] : enumerate(*entries)) {
    std::optional<uint64_t> expert = entry.getAsUINT64();
    if (!expert)
      return fail("entry " + Twine(place) + " must be an expert, 0 to " + Twine(count - 1));
    if (*expert >= uint64_t(count))
      return fail("entry " + Twine(place) + " is expert " + Twine(*expert) +
                  ", for which the list is too short: it has " + Twine(count) +
                  " entries, one for each expert, and they count from 0");
    if (places[*expert] >= 0)
      return fail("entry " + Twine(place) + " is expert " + Twine(*expert) + ", as entry " + Twine(places[*expert]) +
                  " is; each expert has one place, copies are not supported");
    places[*expert] = place;
    order.push_back(*expert);
  }
  return order;
}

std::shared_ptr<const ExpertOrders> ExpertOrders::read(StringRef path, std::string &error) {
  auto fail = [&](const Twine &what) {
    error = ("experts: '" + path + "': " + what).str();
    return nullptr;
  };
  // A pipe would be waited for, and a device may have no end.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return fail("is not a file");
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(buffer.getError().message());
  Expected<JsonDocument> document = parseUntrustedJson((*buffer)->getBuffer());
  if (!document)
    return fail(toString(document.takeError()));
  auto result = std::make_shared<ExpertOrders>();
  result->path = path;
  std::string problem;
  const JsonObject *object = document->root().getAsObject();
  if (!object) {
    std::optional<Order> order = readOrder(document->root(), "", problem);
    if (!order)
      return fail(problem);
    result->common = std::move(*order);
  } else if (const JsonValue *map = object->get(kMap)) {
    // What else stands there, as SGLang's counts of tokens, is nobody's order.
    for (const JsonMember &member : *object)
      if (const JsonArray *own = member.second.getAsArray();
          own && member.first != kMap && !own->empty() && own->front().getAsUINT64())
        return fail("has '" + printable(member.first) + "' beside " + kMap +
                    ", which orders all layers; give one of them");
    if (!map->getAsArray())
      return fail(kMap + " must have a row for each layer");
    result->numbered.emplace();
    for (auto [layer, row] : enumerate(*map->getAsArray())) {
      std::optional<Order> order = readOrder(row, kMap + Twine(", row ") + Twine(layer) + ": ", problem);
      if (!order)
        return fail(problem);
      result->numbered->push_back(std::move(*order));
    }
  } else {
    for (const JsonMember &member : *object) {
      std::optional<Order> order = readOrder(member.second, printable(member.first) + ": ", problem);
      if (!order)
        return fail(problem);
      result->named.emplace_back(member.first, std::move(*order));
    }
  }
  return result;
}

/// The first number among the parts of a name, as 3 of "model.layers.3.mlp".
static std::optional<size_t> numberIn(StringRef layer) {
  for (StringRef part : split(layer, '.')) {
    size_t number;
    if (!part.getAsInteger(10, number))
      return number;
  }
  return std::nullopt;
}

std::optional<ArrayRef<int32_t>> ExpertOrders::of(StringRef layer, int64_t experts, std::string &error) const {
  auto fail = [&](const Twine &what) {
    error = ("'" + path + "' " + what).str();
    return std::nullopt;
  };
  ArrayRef<int32_t> order = common;
  for (const auto &[name, own] : named)
    if (name == layer)
      order = own;
  if (numbered) {
    std::optional<size_t> number = numberIn(layer);
    if (!number || *number >= numbered->size())
      return fail("has no row in " + kMap + " for layer '" + layer + "'");
    order = (*numbered)[*number];
  }
  if (!order.empty() && static_cast<int64_t>(order.size()) != experts)
    return fail("orders " + Twine(order.size()) + " experts, but layer '" + layer + "' has " + Twine(experts));
  if (equal(order, seq<int32_t>(0, order.size())))
    return ArrayRef<int32_t>();
  return order;
}

bool ExpertOrders::namesOnly(ArrayRef<std::string> layers, std::string &error) const {
  for (const auto &[name, order] : named)
    if (!is_contained(layers, name)) {
      error = "'" + path + "' orders the experts of '" + printable(name) + "', which is no layer of this program; " +
              (layers.empty() ? "it has none" : "there is " + join(layers, ", "));
      return false;
    }
  return true;
}

std::string ExpertOrders::describeUnused(ArrayRef<std::string> layers) const {
  if (!numbered && named.empty() && common.empty())
    return "'" + path + "' orders no layer: the experts of all stand by number";
  size_t used = 0; // rows up to that of the last layer
  StringRef last;
  for (StringRef layer : layers)
    if (std::optional<size_t> number = numberIn(layer); number && *number >= used) {
      used = *number + 1;
      last = layer;
    }
  if (!numbered || !used || numbered->size() <= used)
    return "";
  return "'" + path + "' has " + std::to_string(numbered->size()) + " rows in " + kMap.str() +
         ", of which those from row " + std::to_string(used) + " on order nothing: the last layer with experts is '" +
         last.str() + "'";
}
