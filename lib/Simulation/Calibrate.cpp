//===- Calibrate.cpp - fits the model's constants -----------------------------------------------------------------===//
//
// `moe-sim --fit` prints what this finds; Constants (Cost.h) holds it, and a test compares the two.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Predictions.h"

#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

Constants sim::fit(const Machines &machines) {
  auto miss = [&](const Constants &constants) {
    double sum = 0;
    for (const Prediction &row : fittedRows(machines, constants)) {
      const double factor = std::log(row.simulated / row.published);
      sum += factor * factor;
    }
    return sum;
  };
  struct {
    double Constants::*field;
    double least, most;
  } const fields[] = {{&Constants::link, 0.7, 1}, {&Constants::published, 1, 3}};
  Constants best;
  best.link = 0.85;
  best.published = 2;
  double least = miss(best);
  // The list of tiles makes the sum uneven, so each constant is tried at many places, in turns, closer and closer.
  for (double width = 1; width > 1e-5; width /= 2)
    for (int turn = 0; turn < 4; ++turn)
      for (const auto &field : fields) {
        const double middle = best.*field.field, reach = width * (field.most - field.least);
        for (int place = -20; place <= 20; ++place) {
          Constants other = best;
          other.*field.field = std::min(std::max(middle + reach * place / 20, field.least), field.most);
          if (double sum = miss(other); sum < least) {
            least = sum;
            best = other;
          }
        }
      }
  return best;
}
