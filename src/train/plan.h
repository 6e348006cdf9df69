// Everything about a run that follows from settings, world size and data, computed alike on every rank before any message.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "cost/memory.h"
#include "data/samples.h"
#include "mesh/mesh.h"
#include "model/layout.h"
#include "model/segment.h"
#include "optimizer/optimizer_state.h"
#include "schedule/instruction.h"
#include "sharding/sum_shape.h"

namespace troika::train {

// What the data brings in.
struct DataFacts {
  std::int64_t vocab = 0;                               // of the tokenizer
  std::int64_t samples = 0;                             // of seq_len in one epoch
  std::int64_t tokens = 0;                              // 0: drawn at random, without end
  std::string fingerprint;                              // equal on hosts that hold equal data
  std::int64_t valid_samples = 0;                       // to evaluate on; 0: no evaluation
  data::Documents documents = data::Documents::joined;  // see documents_of
};

// Apart if those of either are; `valid` may be null. Then every stage has to know where documents begin.
data::Documents documents_of(const data::Samples& samples, const data::Samples* valid);

c10::ScalarType dtype_of(const config::PrecisionSettings& precision);

struct Plan {
  config::Resolved resolved;  // vocab and steps written in
  DataFacts data;
  mesh::Shape shape;
  std::int64_t steps = 0;
  model::Trained trained;            // by segment; nothing in an evaluation
  schedule::Program program;         // of a training step, or of an evaluation where nothing is trained; checked
  schedule::Program evaluation;      // beside training: of data.valid; no lanes without it; checked
  std::vector<cost::Memory> memory;  // per lane: of its rank that needs most

  const config::Settings& settings() const { return resolved.settings; }
  const config::ModelSettings& model() const { return resolved.settings.model; }
  std::vector<model::ParameterInfo> trained_parameters() const;  // sorted by name
  bool freezes() const;                                          // any segment

  // What a rank at a coordinate is, for the rooms below.
  model::TensorShare tensor_share(const mesh::Coordinate& at) const { return {at.tp, shape.tp}; }
  sharding::SumShape sum_shape(const mesh::Coordinate& at) const;
  sharding::SequenceParallel sequence_parallel() const;
  std::int64_t positions(const mesh::Coordinate& at) const;  // of each sequence that the rank computes
  std::int64_t rows(const mesh::Coordinate& at) const;       // of a microbatch that cross a stage border there

  c10::ScalarType dtype() const;       // of parameters and activations
  std::int64_t element_bytes() const;  // of that type
  model::Keep keep() const;            // what a forward without a refwd keeps
  optimizer::StatePlace state_place() const;
  bool embedding_and_head_together() const;  // on one pp rank
  bool documents_apart() const { return data.documents == data::Documents::apart; }
};

// ConfigError for what does not fit together (vocabulary smaller than the tokenizer's, too little data, too many ranks);
// DataError for a schedule file that is wrong.
Plan make_plan(const config::Resolved& resolved, const DataFacts& data);

// Of an evaluation alone, without optimizer and gradients: `program` is that of one round over data.valid, of at most
// `most_per_rank` microbatches for each data-parallel rank. Schedule, recomputation and offload have no say.
Plan make_evaluation_plan(const config::Resolved& resolved, const DataFacts& data, std::int64_t most_per_rank);
inline constexpr std::int64_t no_limit = 1 << 20;

// ConfigError when a rank of this host needs more than its share of `available_bytes`, with what would fit.
void check_memory(const Plan& plan, int lane, std::int64_t available_bytes, int ranks_on_host);

// What rank 0 prints before the first step, a line each.
std::vector<std::string> describe(const Plan& plan);

}  // namespace troika::train
