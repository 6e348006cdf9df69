#include "model/positions.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/architecture.h"

namespace troika::model {

Positions make_positions(const config::ModelSettings& model, std::int64_t seq_len, const c10::Device& device,
                         const sharding::ContextGroup& context) {
  Positions positions;
  positions.seq_len = seq_len;
  const std::vector<std::int64_t> mine = context.positions(seq_len);
  if (architecture_of(model).positions == Architecture::Positions::rotary) {
    positions.rope = kernels::make_rope_table(mine, model.head_dim, model.rope_theta, device);
    return positions;
  }
  if (seq_len > model.max_positions)
    throw base::ConfigError(fmt::format("a sequence of {} tokens for a model that has learned {} positions: at most {}",
                                        seq_len, model.max_positions, model.max_positions));
  positions.index_T = at::tensor(mine, at::TensorOptions().dtype(at::kLong)).to(device);
  return positions;
}

void check_positions(const Positions& positions, const Tokens& tokens, const sharding::ContextGroup& context) {
  const bool alone = context.size() == 1;
  if (alone ? tokens.T > positions.seq_len : tokens.T_whole != positions.seq_len)
    throw base::BugError(fmt::format("a microbatch of {} positions, {} on this rank, for segments made for {}",
                                     tokens.T_whole, tokens.T, positions.seq_len));
}

}  // namespace troika::model
