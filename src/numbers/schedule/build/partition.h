// Cutting a model's segments into consecutive stages. Segment 0 is the embedding, the last one the final norm and head,
// those between are transformer blocks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace troika::schedule {

using Ranges = std::vector<std::pair<int, int>>;  // per stage: segments [begin, end)

// The cut whose costliest stage is cheapest; among those the one with the least sum of squared stage costs; among those
// the one whose earlier stages are shorter. Every stage has at least one block when there are enough blocks, else at
// least one segment. Exact, O(stages x segments^2). ConfigError when there are more stages than segments; BugError when
// a cost is negative or not finite.
Ranges partition_by_cost(const std::vector<double>& segment_cost, int stages);

// By a given number of transformer blocks per stage; the first stage also has the embedding, the last one the head.
// ConfigError when the numbers do not add up to `layers` or a stage between the ends would be empty.
Ranges partition_by_layers(const std::vector<std::int64_t>& layers_per_stage, std::int64_t layers);

}  // namespace troika::schedule
