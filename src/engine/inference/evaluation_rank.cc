#include "inference/evaluation_rank.h"

#include <utility>

#include "model/decoder.h"

namespace troika::inference {

EvaluationRank::EvaluationRank(const plan::Plan& plan, const data::Samples& samples,
                               std::vector<data::SourcePart> sources, comm::RankChannels& channels,
                               tensor::Streams& streams, executor::Observer& observer, const model::OnLogits& on_logits)
    : plan_(plan), channels_(channels) {
  const int rank = channels.world->rank();
  const executor::Place place{rank, plan.shape, mesh::coordinate_of(plan.shape, rank)};
  if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(*channels.tp, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(*channels.cp);
  units_ = weights::make_units(plan, place.at,
                               model::make_segments(plan.model(), plan.resolved.batch.seq_len, streams.device(),
                                                    {&tensor_group_, &context_group_}, on_logits),
                               streams, ledger_);
  evaluator_ = std::make_unique<Evaluator>(plan, plan.program, samples, std::move(sources),
                                           Computing{place,
                                                     {*channels.world, *channels.pp, *channels.replicas},
                                                     units_,
                                                     tensor_group_,
                                                     context_group_,
                                                     streams,
                                                     ledger_,
                                                     observer});
}

void EvaluationRank::load(const weights::FillWeights& fill) {
  weights::load_frozen(plan_, units_, fill, ledger_);
  evaluator_->publish_parameters();
}

Evaluation EvaluationRank::evaluate(const Evaluator::AfterRound& after_round) {
  const Evaluation result = evaluator_->run(0, after_round);
  comm::prove_order(channels_);
  return result;
}

}  // namespace troika::inference
