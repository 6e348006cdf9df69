#include "executor/step_facts.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "comm/collectives.h"
#include "optimizer/optimizer.h"
#include "sharding/tree.h"

namespace troika::executor {

static std::int64_t bits_of(double value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

StepFacts::StepFacts(int microbatches, const std::vector<std::string>& parameter_names, int world_size)
    : microbatches_(static_cast<std::size_t>(microbatches)),
      names_(parameter_names),
      values_(2 * microbatches_ + names_.size() + static_cast<std::size_t>(world_size) + 1) {}

double StepFacts::number(std::size_t index) const {
  double value = 0;
  std::memcpy(&value, &values_[index], sizeof value);
  return value;
}

void StepFacts::set_loss(int microbatch, const kernels::LossSum& loss) {
  values_.at(static_cast<std::size_t>(microbatch)) = bits_of(loss.loss);
  values_.at(microbatches_ + static_cast<std::size_t>(microbatch)) = loss.tokens;
}

void StepFacts::set_squares(const std::map<std::string, double>& squares_by_name) {
  for (const auto& [name, squares] : squares_by_name) {
    const auto found = std::lower_bound(names_.begin(), names_.end(), name);
    if (found == names_.end() || *found != name) throw base::BugError("no such parameter: " + name);
    values_[2 * microbatches_ + static_cast<std::size_t>(found - names_.begin())] = bits_of(squares);
  }
}

void StepFacts::set_memory(int world_rank, std::int64_t bytes) {
  values_.at(2 * microbatches_ + names_.size() + static_cast<std::size_t>(world_rank)) = bytes;
}

std::int64_t StepFacts::largest_memory() const {
  return *std::max_element(values_.begin() + static_cast<std::ptrdiff_t>(2 * microbatches_ + names_.size()),
                           values_.end() - 1);
}

void StepFacts::sum_over(comm::Channel& world) {
  if (world.size() > 1) comm::sum_integers(world, values_);
}

double StepFacts::loss_sum() const {
  std::vector<double> losses;
  for (std::size_t m = 0; m < microbatches_; ++m) losses.push_back(number(m));
  return sharding::tree_sum(losses);
}

std::int64_t StepFacts::tokens() const {
  std::int64_t sum = 0;
  for (std::size_t m = 0; m < microbatches_; ++m) sum += values_[microbatches_ + m];
  return sum;
}

double StepFacts::gradient_norm() const {
  std::vector<double> squares;
  for (std::size_t p = 0; p < names_.size(); ++p) squares.push_back(number(2 * microbatches_ + p));
  return optimizer::norm_of(squares);
}

}  // namespace troika::executor
