// Everything about a run that follows from settings, world size and data, computed alike on every rank before any message.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/resolve.h"
#include "cost/memory.h"
#include "mesh/mesh.h"
#include "model/layout.h"
#include "schedule/instruction.h"

namespace troika::train {

// What the data brings in.
struct DataFacts {
  std::int64_t vocab = 0;    // of the tokenizer
  std::int64_t samples = 0;  // of seq_len in one epoch
  std::int64_t tokens = 0;
  std::string fingerprint;  // equal on hosts that hold equal data
};

struct Plan {
  config::Resolved resolved;  // vocab and steps written in
  DataFacts data;
  mesh::Shape shape;
  std::int64_t steps = 0;
  std::vector<std::pair<int, int>> stages;  // segments [first, end) of each stage
  schedule::Program program;                // checked
  std::vector<cost::Memory> memory;         // per lane

  const config::ModelSettings& model() const { return resolved.settings.model; }
  std::vector<std::string> parameter_names() const;  // sorted
};

// ConfigError for what does not fit together (vocabulary smaller than the tokenizer's, too little data).
Plan make_plan(const config::Resolved& resolved, const DataFacts& data);

// ConfigError when a rank of this host needs more than its share of `available_bytes`, with what would fit.
void check_memory(const Plan& plan, int lane, std::int64_t available_bytes, int ranks_on_host);

// What rank 0 prints before the first step, a line each.
std::vector<std::string> describe(const Plan& plan);

}  // namespace troika::train
