// Shapes for tests: equal stages and equal segments.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "schedule/build/builder.h"

namespace troika::schedule {

inline StepShape shape_of(int pp, int dp, int microbatches, int segments_per_stage = 1, int virtual_stages = 1) {
  StepShape shape;
  shape.pp = pp;
  shape.dp = dp;
  shape.replicas = dp;
  shape.microbatches = microbatches;
  shape.virtual_stages = virtual_stages;
  for (int s = 0; s <= pp * virtual_stages; ++s) shape.segment_begin.push_back(s * segments_per_stage);
  return shape;
}

inline int stages_per_rank(const std::string& schedule) { return schedule == "interleaved" ? 2 : 1; }

// By the words of the settings.
inline std::vector<std::string> schedule_names() {
  const auto words = config::words_of(config::Schedule{});
  return {words.begin(), words.end()};
}
inline Program build(const std::string& schedule, const StepShape& shape) {
  return build(config::parse_word<config::Schedule>(schedule).value(), shape);
}
inline Bounds bounds(const std::string& schedule, const StepShape& shape) {
  return bounds(config::parse_word<config::Schedule>(schedule).value(), shape);
}

// The text of the error, or "accepted".
template <class Error, class Do>
std::string refusal_of(Do action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace troika::schedule
