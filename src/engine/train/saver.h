// Saves a run's checkpoints: which slices this rank writes, what the manifest says of the run, and the tokenizer's files.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/language.h"
#include "checkpoint/copies.h"
#include "comm/channel.h"
#include "executor/executor.h"
#include "plan/plan.h"
#include "tensor/tensor.h"
#include "train/initial_state.h"
#include "train/save_policy.h"
#include "train/snapshot.h"
#include "train/tokenizer_copies.h"
#include "train/train_state.h"
#include "train/rank_activity.h"

namespace troika::train {

// How a run saves its checkpoints.
struct Saving {
  // from_snapshot: what is saved is copied in memory and written while training runs. in_place: training waits.
  enum class Way { in_place, from_snapshot } way = Way::in_place;
  checkpoint::Copies copies;
  std::vector<base::Text> remarks;           // for people: what is otherwise than they may expect
  std::vector<std::int64_t> snapshot_bytes;  // per world rank; empty: in place
};

// Collective over `world`, before the first step: the same on all ranks. `free_bytes`: of host memory, for this rank, whose device
// says what it takes of that; -1: not known. Messages are timed only where they decide.
Saving decide_saving(const plan::Plan& plan, const tensor::Device& device, std::int64_t free_bytes,
                     comm::Channel& world);

// The run that is saved, and where its tokenizer is read on this host (tokenizer_copies.h).
struct SavedRun {
  std::string launch;  // Attempt::launch
  std::string tokenizer{config::bytes_tokenizer}, chat_template{config::tokenizers_template};
};

// One rank's thread. References must outlive it.
class Saver final : public CheckpointWriter {
 public:
  // The objects to be saved. A loss scale of other precisions than fp16 is not saved.
  struct Saved {
    const TrainState& state;
    const executor::Units& units;
    const executor::Place& place;
  };
  // Collective over `channel`, which is the saver's alone: the run's folder gets its copies of the tokenizer. `rank_activity`
  // hears of what is written beside training; may be null.
  Saver(const plan::Plan& plan, const InitialState& initial, const SavedRun& run, const Saved& saved,
        const Saving& saving, comm::Channel& channel, tensor::Ledger& ledger, tensor::Streams& streams,
        RankActivity* rank_activity);
  ~Saver() override;  // a checkpoint that is being written is given up

  // Before this has passed nothing may change what begin() has saved.
  const tensor::Event& copied() const { return snapshot_.copied(); }

  void begin(Until until) override;
  bool writing() const override { return result_.valid(); }
  bool complete() const override;
  std::int64_t step() const override { return step_; }
  Outcome finish() override;

 private:
  checkpoint::SaveRequest make_request() const;
  void write(checkpoint::SaveRequest request, double begin);
  void write_beside(checkpoint::SaveRequest request, double begin);

  const plan::Plan& plan_;
  const Saved saved_;
  const Saving saving_;
  comm::Channel& channel_;
  RankActivity* const rank_activity_;
  const std::string config_json_;
  std::map<std::string, std::string> facts_;  // those of Facts::extra that stay as they are
  const TokenizerCopies tokenizer_;
  Snapshot snapshot_;
  std::int64_t step_ = 0;
  std::promise<Outcome> promise_;
  std::future<Outcome> result_;
  std::thread writer_;
};

}  // namespace troika::train
