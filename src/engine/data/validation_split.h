// Samples split into those to train on and those kept for evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/samples.h"

namespace troika::data {

struct Split {
  std::shared_ptr<const Samples> training, validation;
};

// The samples are cut into as many stretches of equal length (give or take one) as validation gets samples, 0 <
// `count` < all of them; of each, (seed, stretch) chooses one for validation. The parts are disjoint and together
// all; each keeps the order. O(1) memory. A sample that appears twice in `all` may be in both parts: split sources
// before mixing them.
Split split(std::shared_ptr<const Samples> all, std::int64_t count, std::uint64_t seed);

// How many of each source validation gets, by data.valid_share: below 1 a share of all samples, rounded, one at least;
// else a count. In proportion to `sizes`, rounded at the running sum, so that a small source may give none; each keeps
// one for training. ConfigError naming data.valid_share and `sources` when they have too few for that.
std::vector<std::int64_t> validation_counts(const std::vector<std::int64_t>& sizes, double share,
                                            const std::string& sources);

}  // namespace troika::data
