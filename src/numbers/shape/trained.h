// What of a model a run trains, as its segments and their costs need to know it.
#pragma once

#include <cstdint>
#include <vector>

#include "config/settings.h"

namespace troika::shape {

struct Trained {
  std::vector<bool> segments;  // by segment: whether its own parameters have gradients; empty: all
  config::LoraSettings lora;   // adapters beside the projections of every block, where rank is above 0
  std::uint64_t seed = 0;      // of their dropout
  config::Loss loss = config::Loss::cross_entropy;

  bool own(int segment) const { return segments.empty() || segments[static_cast<std::size_t>(segment)]; }
};

}  // namespace troika::shape
