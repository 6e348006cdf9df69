// One rank of a model that is evaluated and not trained: its parameters and what runs them.
#pragma once

#include <memory>

#include "model/segment.h"
#include "train/evaluate.h"
#include "train/frozen.h"
#include "train/trainer.h"

namespace troika::train {

// References outlive it. Not movable; one rank's thread.
class FrozenRank {
 public:
  // `plan`: of make_evaluation_plan. `on_logits` may be empty.
  FrozenRank(const Plan& plan, const data::Samples& samples, RankChannels& channels, const c10::Device& device,
             executor::Observer& observer, const model::OnLogits& on_logits);
  FrozenRank(const FrozenRank&) = delete;
  FrozenRank& operator=(const FrozenRank&) = delete;

  void load(const FillWeights& fill);                                  // collective
  Evaluation evaluate(const Evaluator::AfterRound& after_round = {});  // collective

  const tensor::Ledger& ledger() const { return ledger_; }

 private:
  const Plan& plan_;
  tensor::Ledger ledger_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  executor::Units units_;
  std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace troika::train
