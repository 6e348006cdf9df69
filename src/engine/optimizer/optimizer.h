// Updates of one rank's range of a flat buffer, and the pieces of the gradient norm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "config/settings/settings.h"
#include "kernels/flat.h"
#include "optimizer/optimizer_state.h"
#include "optimizer/update_rule.h"
#include "shape/shard_plan.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace troika::optimizer {

// The square of one part from those of all chunks of the buffer, added in order.
double square_of_part(const shape::ShardPlan& plan, std::size_t part, const std::vector<double>& chunk_squares);

// From the squares of every parameter in name order to the norm.
double norm_of(const std::vector<double>& squares_in_name_order);

// Consecutive elements to which weight decay applies, or does not.
struct Stretch {
  std::int64_t count = 0;
  bool decays = true;
};

// Whether the state's bits are summed as they are written, and compared when they are next read.
enum class Checksums { off, on };

// A mismatch between memory and what the step before had left there.
struct StateFault {
  std::string_view what;    // "the parameter", a buffer's title, or beside half precision "the values" that forward reads
  std::size_t stretch = 0;  // the first one
};

// Owns the state of its parameters, and the master copy for half precision; updates them by a rule. One rank's thread.
class Optimizer {
 public:
  // `values`: what forward and backward read, one-dimensional, fp32, bf16 or fp16; fp32 values are their own master copy.
  // `stretches` cover them in order.
  Optimizer(const std::vector<Stretch>& stretches, const tensor::Tensor& values, const config::OptimizerSettings& settings,
            const shape::StatePlace& place, Checksums checksums, tensor::Streams& streams, tensor::Ledger& ledger);

  // For checkpoints, fp32, each as long as the values; after writing to any of them, call master_changed().
  const std::vector<shape::StateBuffer>& buffers() const { return buffers_; }
  const tensor::Tensor& buffer(std::size_t index) const { return state_.stored(static_cast<int>(index)); }
  const tensor::Tensor& master() const { return has_master_ ? buffer(buffers_.size()) : values_; }
  void master_changed();
  void settle() { state_.offload(); }  // after reading or writing any of them

  void fetch() { state_.fetch(); }
  void offload() { state_.offload(); }

  // One update with `gradient` (fp32, as long as the values); the values follow the master copy. With checksums: what had changed
  // since the last step; everything is updated all the same.
  std::optional<StateFault> step(const tensor::Tensor& gradient, const Update& update);

  // Between steps: what has changed since the last one, found by reading all of it. Nothing without checksums.
  std::optional<StateFault> find_fault() const;
  // Sums of the bits of the values that forward and backward read, as the last step wrote them, by stretch (kernels::bits_sum).
  // Empty where they are not known.
  std::vector<std::uint32_t> value_sums() const;

 private:
  using Sums = std::vector<std::uint32_t>;  // of one stretch, modulo 2^32: of parameter, buffers, values
  struct SumsOfStep {                       // by stretch
    std::vector<Sums> read, written;
  };
  std::size_t summed() const { return buffers_.size() + 2; }
  UpdateTensors tensors_of(const tensor::Tensor& gradient, const shape::Range& piece);
  static void add_sums(const tensor::Tensor& of_stretches, std::size_t first, SumsOfStep* sums);
  std::optional<StateFault> difference(const Sums& found, const Sums& left, std::size_t stretch) const;

  const tensor::Tensor values_;
  const std::unique_ptr<const UpdateRule> rule_;
  const std::vector<shape::StateBuffer> buffers_;
  const bool has_master_;
  const Checksums checksums_;
  std::vector<kernels::DecayStretch> stretches_;
  std::vector<Sums> known_;  // by stretch, as the last step wrote them; empty: not known
  OptimizerState state_;
};

// The learning rate of a step: linear warm-up from 0, then cosine, linear or constant down to min_lr at the last step; wsd
// is constant and falls to min_lr over its last decay_steps.
// `step` counts from 1 to `steps`; warmup_steps and decay_steps are those of the run (plan::Job). A step takes the rate where
// it ends, or with lr_at start where it begins, as transformers' get_scheduler does; the warm-up of its wsd rises from min_lr.
double learning_rate(const config::OptimizerSettings& settings, std::int64_t step, std::int64_t steps);

// Whether the rate of every step from `first` to `last` is 0, so that no weight changes; true of no steps.
bool changes_nothing(const config::OptimizerSettings& settings, std::int64_t first, std::int64_t last,
                     std::int64_t steps);

}  // namespace troika::optimizer
