#include "train/tokens.h"

#include <ATen/ATen.h>

namespace troika::train {

model::Tokens tokens_of(const data::TokenBatch& batch, const sharding::ContextGroup& context,
                        const c10::Device& device) {
  const std::vector<std::int64_t> positions = context.positions(batch.length);
  const auto to_device = [&](const std::vector<std::int32_t>& ids) {
    at::Tensor all = at::from_blob(const_cast<std::int32_t*>(ids.data()), {batch.rows, batch.length}, at::kInt);
    if (context.size() > 1) all = all.index_select(1, at::tensor(positions, at::kLong));
    return all.to(at::kLong).flatten().to(device);
  };
  model::Tokens tokens;
  tokens.ids_M = to_device(batch.inputs);
  tokens.targets_M = to_device(batch.targets);
  tokens.targets_M.masked_fill_(tokens.targets_M == data::no_target, -100);
  tokens.B = batch.rows;
  tokens.T = static_cast<std::int64_t>(positions.size());
  tokens.T_whole = batch.length;
  return tokens;
}

}  // namespace troika::train
