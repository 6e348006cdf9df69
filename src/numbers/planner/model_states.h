// Bytes of what a training keeps of a model between steps: S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training
// Trillion Parameter Models", 2020.
#pragma once

#include "config/settings.h"
#include "shape/optimizer_state.h"
#include "shape/precision.h"

namespace troika::planner {

struct BytesPerParameter {
  double weights = 0, gradients = 0, state = 0;
};

// Of mixed-precision Adam as the paper counts it.
inline constexpr BytesPerParameter bytes_of_zero_paper{2, 2, 12};

// Ours, with the sum of several microbatches' gradients in integers.
inline BytesPerParameter bytes_of_training(config::Optimizer optimizer, config::Precision precision) {
  const auto element = shape::bytes_of(precision);
  return {static_cast<double>(element), 8, static_cast<double>(shape::shape_of(optimizer).bytes(element))};
}

// Of one of `replicas` ranks.
inline double model_state_bytes(double parameters, double replicas, int zero, const BytesPerParameter& bytes) {
  const auto part = [&](double each, int from) { return each / (zero >= from ? replicas : 1); };
  return parameters * (part(bytes.weights, 3) + part(bytes.gradients, 2) + part(bytes.state, 1));
}

}  // namespace troika::planner
