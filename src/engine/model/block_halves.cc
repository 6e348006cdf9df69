#include "model/block_halves.h"

#include "kernels/rows.h"

namespace troika::model {

BlockHalves::BlockHalves(const config::ModelSettings& model, const Positions& positions, const Groups& groups,
                         const shape::Trained& trained, int segment)
    : feed_forward(model, groups, trained, segment) {
  if (shape::block_kind(model, segment).attends()) attention.emplace(model, positions, groups, trained, segment);
  Places own, adapter;
  own_of_attention = own.take(attention ? attention->elements() : 0);
  own_of_feed_forward = own.take(feed_forward.elements());
  adapters_of_attention = adapter.take(attention ? attention->adapter_elements() : 0);
  adapters_of_feed_forward = adapter.take(feed_forward.adapter_elements());
}

Activation activation_of(const shape::BlockKind& kind) {
  if (kind.feed_forward == shape::BlockKind::FeedForward::swiglu)
    return {kind.activation_inputs(), kernels::swiglu_forward, kernels::swiglu_backward};
  return {kind.activation_inputs(), kernels::gelu_forward, kernels::gelu_backward};
}

}  // namespace troika::model
