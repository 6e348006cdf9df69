// A part of samples kept for evaluation.
#pragma once

#include <cstdint>
#include <memory>

#include "data/samples.h"

namespace troika::datasets {

struct Split {
  std::shared_ptr<const data::Samples> training, validation;
};

// `share` of data.valid_share: below 1 a part of the samples, rounded, one at least; else a count. The samples are cut
// into as many stretches of equal length (give or take one) as validation gets samples; of each, (seed, stretch)
// chooses one for validation. The parts are disjoint and together all; each keeps the order. O(1) memory. A sample
// that stands twice in `all` may be in both parts: split sources before mixing them. ConfigError naming
// data.valid_share when training is left without samples.
Split split(std::shared_ptr<const data::Samples> all, double share, std::uint64_t seed);

}  // namespace troika::datasets
