// What all ranks must know before the optimizer steps, gathered by one exact sum of integers over the world: every
// number has one rank that contributes its bits, all others contribute 0, so no rounding and no order is involved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "kernels/output_loss.h"

namespace troika::executor {

class StepFacts {
 public:
  StepFacts(int microbatches, const std::vector<std::string>& parameter_names, int world_size);

  // Each of these by exactly one rank of the world per microbatch or parameter.
  void set_loss(int microbatch, const kernels::LossSum& loss);
  void set_squares(const std::map<std::string, double>& squares_by_name);
  void set_wish(std::int64_t wish) { values_.back() = wish; }  // by any rank; summed
  void set_memory(int world_rank, std::int64_t bytes);         // by that rank

  void sum_over(comm::Channel& world);

  // After sum_over, the same on every rank.
  double loss_sum() const;  // the fixed tree over microbatches
  std::int64_t tokens() const;
  double gradient_norm() const;  // the fixed tree over parameters in name order, square root
  std::int64_t wishes() const { return values_.back(); }
  std::int64_t largest_memory() const;

 private:
  double number(std::size_t index) const;

  const std::size_t microbatches_;
  const std::vector<std::string>& names_;
  std::vector<std::int64_t> values_;  // losses, token counts, squares (bits of doubles), bytes per rank, wish
};

}  // namespace troika::executor
