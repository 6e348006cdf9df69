// Saves a run's checkpoints: which slices this rank writes, what the manifest says of the run, and the tokenizer's files.
#pragma once

#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/snapshot.h"
#include "comm/channel.h"
#include "executor/executor.h"
#include "optimizer/gradient_exponents.h"
#include "optimizer/loss_scale.h"
#include "plan/plan.h"
#include "train/initial_state.h"
#include "train/saving.h"
#include "train/tokenizer_copies.h"
#include "train/trainer_state.h"
#include "train/whereabouts.h"

namespace troika::train {

// Of which run, and where its tokenizer is read on this host (tokenizer_copies.h).
struct SavedRun {
  std::string launch;  // Attempt::launch
  std::string tokenizer{config::bytes_tokenizer}, chat_template{config::tokenizers_template};
};

// One rank's thread. References must outlive it.
class Saver {
 public:
  // Collective over `channel`, which is the saver's alone: the run's folder gets its copies of the tokenizer. `whereabouts`
  // hears of what is written beside training; may be null.
  Saver(const plan::Plan& plan, const InitialState& initial, const SavedRun& run, const Saving& saving,
        comm::Channel& channel, tensor::Ledger& ledger, tensor::Streams& streams, Whereabouts* whereabouts);
  ~Saver();  // a checkpoint that is being written is given up

  // What is there to be saved, as the step before left it. A loss scale of other precisions than fp16 is not saved.
  struct State {
    const TrainerState& progress;
    const optimizer::LossScale& scale;
    const optimizer::GradientExponents& exponents;
    const executor::Units& units;
    const executor::Place& place;
  };
  // copied: begin() returns when the state is copied, where the run saves from a snapshot. complete: when the checkpoint is.
  enum class Until { copied, complete };

  // Collective, while none is being written. The outcome is finish()'s to tell.
  void begin(const State& state, Until until);
  // Before this has passed nothing may change what begin() was given.
  const tensor::Event& copied() const { return snapshot_.copied(); }
  bool writing() const { return result_.valid(); }  // begun and not yet finished
  bool complete() const;                            // finish() would not wait
  std::int64_t step() const { return step_; }       // of the one begun last

  // Collective: waits for the checkpoint that was begun. Errors as of checkpoint::save, on all ranks.
  struct Outcome {
    std::int64_t step = 0;
    double seconds = 0;  // from begin() to the end of writing
    std::vector<std::string> remarks;
  };
  Outcome finish();

 private:
  checkpoint::SaveRequest request_of(const State& state) const;
  void write(checkpoint::SaveRequest request, double begin);
  void write_beside(checkpoint::SaveRequest request, double begin);

  const plan::Plan& plan_;
  const Saving saving_;
  comm::Channel& channel_;
  Whereabouts* const whereabouts_;
  const std::string config_json_;
  std::map<std::string, std::string> facts_;  // those of Facts::extra that stay as they are
  const TokenizerCopies tokenizer_;
  checkpoint::Snapshot snapshot_;
  std::int64_t step_ = 0;
  std::promise<Outcome> promise_;
  std::future<Outcome> result_;
  std::thread writer_;
};

}  // namespace troika::train
