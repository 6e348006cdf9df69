// Saves a run's checkpoints: which slices this rank writes, what the manifest says of the run, and the tokenizer's files.
#pragma once

#include <map>
#include <string>

#include "executor/executor.h"
#include "optimizer/loss_scale.h"
#include "plan/plan.h"
#include "train/initial_state.h"
#include "train/tokenizer_copies.h"
#include "train/trainer_state.h"

namespace troika::train {

// Of which run, and where its tokenizer is read on this host (tokenizer_copies.h).
struct SavedRun {
  std::string launch;  // Attempt::launch
  std::string tokenizer{config::bytes_tokenizer}, chat_template{config::tokenizers_template};
};

// One rank's thread. References must outlive it.
class Saver {
 public:
  // Collective over `world`: the run's folder gets its copies of the tokenizer.
  Saver(const plan::Plan& plan, const InitialState& initial, const SavedRun& run, comm::Channel& world);

  // Collective: returns when the checkpoint is complete. Errors as of checkpoint::save. A loss scale of other precisions than
  // fp16 is not saved.
  void save(const TrainerState& state, const optimizer::LossScale& scale, const optimizer::GradientExponents& exponents,
            const executor::Units& units, const executor::Place& place);

 private:
  const plan::Plan& plan_;
  comm::Channel& world_;
  const std::string config_json_;
  std::map<std::string, std::string> facts_;  // those of Facts::extra that stay as they are
  const TokenizerCopies tokenizer_;
};

}  // namespace troika::train
