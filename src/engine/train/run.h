// One rank's whole run, from settings to the last checkpoint, or its whole evaluation, from settings to the loss: what the verbs `train` and
// `eval` do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data/samples.h"
#include "inference/evaluator.h"
#include "planner/search.h"
#include "train/rank_context.h"
#include "train/trainer.h"

namespace troika::train {

// A run on other samples than data.train names, without checkpoints; with an empty train.out nothing is written.
struct Trial {
  std::shared_ptr<const data::Samples> samples;
  std::int64_t vocab = 0;                                          // of these samples
  std::function<void(double seconds)> on_wait;                     // before on_step: for its device in that step; may be empty
  std::function<void(std::int64_t step, double seconds)> on_step;  // after each, on every rank; may be empty
  std::function<void(const plan::Plan& plan, comm::Channel& world)>
      at_end;  // collective, after the last step; may be empty
};

// How a run is asked to stop (commands/signals.h). All may be empty.
struct StopRequests {
  std::function<bool()> requested;  // asked after each step
  // Until the first step a request ends the process at once, after the words given here, from another thread.
  std::function<void(std::function<void()> last_words)> before_leaving;
  std::function<void()> begin_polling;  // the first step begins
  // From then on a second request does.
  std::function<void(std::function<void()> last_words)> before_ending_at_once;
};

struct RunRequest : RankContext {
  StopRequests stop;
  // parallel.layout auto: what is stated of the layout; `resolved` is that of some layout then. Nothing: as `resolved` has it.
  std::optional<planner::Fixed> open_layout;
  const Trial* trial = nullptr;                    // null: a run as the settings say
  std::map<std::string, std::string> environment;  // that the command of log.on_event gets
};

struct RunResult {
  int exit_code = 0;  // 130: interrupted after saving
  RunSummary summary;
};

// Errors as in_session's (rank_context.h).
RunResult run(const RunRequest& request);

// In the settings, model.path and data.valid must be set; train.out, schedule, recomputation and offload are ignored.
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
