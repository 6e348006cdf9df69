// One rank's whole evaluation, from settings to the loss: what the verb `eval` does.
#pragma once

#include <cstdint>
#include <string>

#include "inference/evaluator.h"
#include "train/rank_context.h"

namespace troika::train {

// Of the settings, model.path and data.valid must be set; train.out, schedule, recomputation and offload are ignored.
struct EvaluationRequest : RankContext {
  std::string logits;  // a file for the logits of every position; empty: none
};

struct EvaluationResult {
  int exit_code = 0;
  inference::Evaluation evaluation;  // alike on all ranks
  std::int64_t truncated = 0;        // samples that were cut to seq_len
};

// Alone or as one rank of a launched world. Leaves nothing on the disk but the logits and what data.cache is asked to keep.
// ConfigError when model.path or data.valid is missing; other errors as in_session's (rank_context.h).
EvaluationResult evaluate(const EvaluationRequest& request);

// Where data are tokenized that may be private: all ranks of a host make it or find it. ConfigError when it is not a folder of
// this user alone.
void make_private_folder(const std::string& path);

}  // namespace troika::train
