//===- ExpertLoad.h - rows that each expert received --------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_EXPERTLOAD_H
#define MOERT_LIB_CORE_EXPERTLOAD_H

#include <cstdint>
#include <cstring>
#include <vector>

namespace moert {

/// Counters per MoE layer, in the order in which the layers first ran.
class ExpertLoad {
public:
  struct Layer {
    const char *name;
    std::vector<int64_t> rows; // by expert
  };

  void add(const char *name, const int32_t *offsets, int32_t experts) {
    Layer &layer = find(name, experts);
    for (int32_t e = 0; e < experts; ++e)
      layer.rows[static_cast<size_t>(e)] += offsets[e + 1] - offsets[e];
  }
  void clear() { layers.clear(); }
  const std::vector<Layer> &all() const { return layers; }

private:
  Layer &find(const char *name, int32_t experts) {
    for (Layer &layer : layers)
      if (std::strcmp(layer.name, name) == 0 && layer.rows.size() == static_cast<size_t>(experts))
        return layer;
    layers.push_back({name, std::vector<int64_t>(static_cast<size_t>(experts), 0)});
    return layers.back();
  }

  std::vector<Layer> layers;
};

} // namespace moert

#endif // MOERT_LIB_CORE_EXPERTLOAD_H
