#include "train/attention_note.h"

#include "base/say.h"
#include "model/dtype_of.h"
#include "shape/layout.h"
#include "sharding/context_group.h"
#include "train/mute_channel.h"

namespace troika::train {
namespace {

sharding::LocalAttention attention_of(const plan::Plan& plan, const mesh::Coordinate& at, std::int64_t t,
                                      const tensor::Device& device) {
  const config::ModelSettings& model = plan.model();
  const shape::LocalWidths widths = shape::local_widths(model, {at.tp, plan.shape.tp});
  const tensor::TensorType type{model::dtype_of(plan.precision()), device};
  const std::int64_t B = plan.resolved.batch.micro, n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim;
  sharding::LocalAttention local;
  local.q_BtnH = tensor::empty({B, t, n, H}, type);
  local.k_BtkH = tensor::empty({B, t, k, H}, type);
  local.v_BtkH = tensor::empty({B, t, n + 2 * k, H}, type).narrow(2, n + k, k);  // as the joint projection leaves it
  local.kv_of_head = shape::kv_of_head(model, widths);
  return local;
}

}  // namespace

base::Text attention_note(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device) {
  if (device.is_cpu()) return {};
  std::vector<base::Text> reasons;
  if (plan.data.documents == shape::Documents::apart) {
    reasons.push_back(base::say("the library is not asked for documents that are apart within a sequence"));
  } else {
    MuteChannel ranks(at.cp, plan.shape.cp);
    const sharding::ContextGroup context = plan.shape.cp > 1 ? sharding::ContextGroup(ranks) : sharding::ContextGroup();
    const std::int64_t T = plan.resolved.batch.seq_len, t = shape::sequence_chunks(T, at.cp, plan.shape.cp).count();
    reasons = context.why_products(attention_of(plan, at, t, device), T);
  }
  if (reasons.empty()) return {};
  base::Text all = reasons.front();
  for (std::size_t i = 1; i < reasons.size(); ++i) all = base::say("{}; {}", all, reasons[i]);
  return base::say("note: attention is computed by products in chunks: {}", all);
}

}  // namespace troika::train
