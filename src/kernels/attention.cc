#include "kernels/attention.h"

#include "kernels/reference/reference.h"

namespace troika::kernels {

AttentionOutput attention_forward(const AttentionInput& input) { return reference::attention_forward(input); }

void attention_merge(AttentionOutput& sum, const AttentionOutput& part) {
  return reference::attention_merge(sum, part);
}

AttentionGradients attention_backward(const at::Tensor& dout_BTnH, const AttentionInput& input,
                                      const AttentionOutput& output) {
  return reference::attention_backward(dout_BTnH, input, output);
}

}  // namespace troika::kernels
