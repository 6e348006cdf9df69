// One rank of a model that is evaluated and not trained: its parameters and executor.
#pragma once

#include <memory>

#include "comm/rank_channels.h"
#include "inference/evaluator.h"
#include "model/segment.h"
#include "weights/rank_units.h"

namespace troika::inference {

// References outlive it. Not movable; one rank's thread.
class EvaluationRank {
 public:
  // `plan`: of make_evaluation_plan. `on_logits` may be empty; it hears microbatches that several `sources` share twice.
  EvaluationRank(const plan::Plan& plan, const data::Samples& samples, std::vector<data::SourcePart> sources,
                 comm::RankChannels& channels, tensor::Streams& streams, executor::Observer& observer,
                 const model::OnLogits& on_logits);
  EvaluationRank(const EvaluationRank&) = delete;
  EvaluationRank& operator=(const EvaluationRank&) = delete;

  void load(const weights::FillWeights& fill);                         // collective
  Evaluation evaluate(const Evaluator::AfterRound& after_round = {});  // collective

  const tensor::Ledger& ledger() const { return ledger_; }

 private:
  const plan::Plan& plan_;
  const comm::RankChannels& channels_;
  tensor::Ledger ledger_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  executor::Units units_;
  std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace troika::inference
