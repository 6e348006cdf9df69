// The shape of a run's metrics: windows over its rows, and what several rules say of them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "diagnosis/facts.h"
#include "diagnosis/rules.h"

namespace troika::diagnosis {

// Medians of the loss over windows of equal length, in order, rows whose loss is no number left out. The length is a tenth of the
// rows, 5 at least and 50 at most.
struct LossWindow {
  std::int64_t last_step = 0;
  double loss = 0;
};
std::vector<LossWindow> loss_windows(const Facts& facts);

// Most rows have no token that carries loss.
std::optional<Finding> no_tokens_in_rows(const Facts& facts);

// Evidence of how the gradient norm rose before the end, and the checkpoint from before it.
void add_rise(const Facts& facts, Finding* found);

}  // namespace troika::diagnosis
