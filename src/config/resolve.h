// From settings to the numbers of one run: the layout and the batch arithmetic, all errors reported together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"

namespace troika::config {

// Batch sizes in sequences. global = micro x microbatches_per_rank x dp.
struct Batch {
  std::int64_t micro = 1;
  std::int64_t microbatches_per_rank = 1;
  std::int64_t microbatches = 1;  // of all data-parallel ranks: the leaves of the canonical gradient sum
  std::int64_t global = 1;
  std::int64_t seq_len = 1;

  std::int64_t tokens_per_step() const { return global * seq_len; }
};

struct Layout {
  std::int64_t dp = 1, pp = 1, tp = 1, cp = 1;
  std::int64_t world() const { return dp * pp * tp * cp; }
};

// Settings whose open questions are answered for one world size. `settings` has them written back (dp, batch sizes, layers
// after middle_layers, microbatches), so that printing it pins the run.
struct Resolved {
  Settings settings;
  Layout layout;
  Batch batch;
  std::vector<std::string> notes;  // familiar spellings ignored and the like, one sentence each
};

// Validates everything that needs no file and no peer. Throws one ConfigError that lists every violation, a line each: the
// setting, its value, the rule, the nearest value that works.
Resolved resolve(const Settings& settings, std::int64_t world_size);

}  // namespace troika::config
