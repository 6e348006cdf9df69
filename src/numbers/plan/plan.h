// Everything about a run that is known before it starts, each part made from those before it: the job, the stages, the
// programs, the memory of every rank. Alike on every rank, before any message.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/language.h"
#include "plan/job.h"
#include "plan/memory.h"
#include "plan/programs.h"
#include "plan/stages.h"

namespace troika::plan {

struct Plan : Job {
  Stages stages;
  schedule::Program program;     // of a training step, or of an evaluation where nothing is trained; checked
  schedule::Program evaluation;  // beside training: of data.valid; no grid ranks without it; checked
  std::vector<Memory> memory;    // per grid rank: of its rank that needs most
};

// ConfigError for what does not fit together (vocabulary smaller than the tokenizer's, too little data, too many ranks);
// DataError for a schedule file that is wrong.
Plan make_plan(const config::Resolved& resolved, const DataFacts& data);

// The plan of an evaluation alone: `program` is that of one round over data.valid, of at most `most_per_rank`
// microbatches for each data-parallel rank. The schedule is ignored.
Plan make_evaluation_plan(const config::Resolved& resolved, const DataFacts& data, std::int64_t most_per_rank);
inline constexpr std::int64_t no_limit = 1 << 20;

// The lengths of the samples that it trains on; nothing where every sample is full. Counts them anew.
std::optional<records::SampleLengths> lengths_of(const Plan& plan);

// The lines that rank 0 prints before the first step. `where` the ranks compute: the host or GPUs.
std::vector<base::Text> describe(const Plan& plan, Room::Where where);

// The first two of these without their titles: "qwen3-tiny: 4 layers, width 128, ...", "dp 2 x pp 2, ...".
base::Text model_line(const Plan& plan);
base::Text layout_line(const Plan& plan);

// The computing of a training step, in a unit that is the same for all ranks: multiply-adds per token, over its
// microbatches and stages.
double computing_of_step(const Plan& plan, int grid_rank);

// The bytes of a rank in a checkpoint, in fp32. trained: parameters with their optimizer state, which change while the file is
// written unless they are copied before.
struct SavedBytes {
  std::int64_t trained = 0, frozen = 0;
  std::int64_t total() const { return trained + frozen; }
};

// The bytes that the rank at a coordinate writes: replica 0 alone writes what it shares with others.
SavedBytes written_bytes(const Plan& plan, const mesh::Coordinate& at);
// The bytes that it shares with replica 0, which writes them, and could write again.
SavedBytes twin_bytes(const Plan& plan, const mesh::Coordinate& at);

// Counts memory for copies of what is trained, of every grid rank's rank that copies most: `bytes` per world rank.
void count_snapshots(Plan* plan, const std::vector<std::int64_t>& bytes);
// Where every rank copies what it writes.
void count_snapshots(Plan* plan);

}  // namespace troika::plan
