#include "train/attention_note.h"

#include "model/dtype_of.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::train {

std::string attention_note(const plan::Plan& plan, const tensor::Device& device) {
  if (device.is_cpu()) return "";
  tensor::Accelerator& accelerator = device.accelerator();
  const bool any_order = plan.resolved.settings.parallel.reproducible == config::Reproducible::off;
  accelerator.set_repeatable(any_order ? tensor::Repeatable::no : tensor::Repeatable::yes);
  const config::ModelSettings& model = plan.model();
  const tensor::TensorType type{model::dtype_of(plan.precision()), device};
  const std::int64_t B = plan.resolved.batch.micro, T = plan.resolved.batch.seq_len;
  const tensor::Tensor q = tensor::empty({B, T, model.heads, model.head_dim}, type);
  const tensor::Tensor k = tensor::empty({B, T, model.kv_heads, model.head_dim}, type);
  const std::string why = accelerator.attention_lacks({q, k, k, tensor::AttentionMask::causal});
  return why.empty() ? "" : "note: attention is computed by products in chunks: " + why;
}

}  // namespace troika::train
