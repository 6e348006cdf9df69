#include "model/activation.h"

#include "kernels/rows.h"

namespace troika::model {

Activation activation_of(const shape::BlockKind& kind) {
  if (kind.feed_forward == shape::BlockKind::FeedForward::swiglu)
    return {kind.activation_inputs(), kernels::swiglu_forward, kernels::swiglu_backward};
  return {kind.activation_inputs(), kernels::gelu_forward, kernels::gelu_backward};
}

}  // namespace troika::model
