// Evaluations with ranks as threads, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/packed.h"
#include "datasets/padded.h"
#include "train/frozen_rank.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {

// Hears nothing.
class DeafObserver final : public executor::Observer {
 public:
  void begins(std::int64_t, const schedule::Instruction&) override {}
  void waited(const schedule::Instruction&, double, double) override {}
  void exchanged_inside(const schedule::Instruction&, double, double) override {}
  void transferred(const schedule::Instruction&, double, double) override {}
  void ended(const schedule::Instruction&, double, double) override {}
};

// 11 samples of unlike lengths, one longer than `seq_len`, one without a target; ids below 259; some with labels.
std::unique_ptr<datasets::PaddedSamples> unlike_samples(const std::string& folder, std::int64_t seq_len);

// 60 sequences of lengths from 1 to seq_len + 3, ids below 259; every third id has no label.
std::shared_ptr<const datasets::Sequences> drawn_sequences(std::int64_t seq_len);
std::unique_ptr<datasets::PackedSamples> packed_samples(std::int64_t seq_len);  // of these

// What an evaluation of the checkpoint or run at `path` does in the layout of `settings`.
Plan evaluation_plan_for(const config::Settings& settings, int world, const data::Samples& samples);

struct RankEvaluation {
  Evaluation evaluation;
  tensor::Ledger ledger;
};
std::vector<RankEvaluation> evaluate_on_threads(const Plan& plan, const std::string& path,
                                                const data::Samples& samples);

}  // namespace troika::train
