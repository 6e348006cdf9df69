// AdamW over one rank's range of a flat buffer, and the pieces of the gradient norm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/settings.h"
#include "kernels/flat.h"
#include "optimizer/optimizer_state.h"
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

// What was found in memory was not what the step before had left there.
struct StateFault {
  // values: beside half precision's master copy, what forward and backward read.
  enum class Where { parameter, first_moment, second_moment, values } where = Where::parameter;
  std::size_t stretch = 0;  // the first one
};

// Owns m and v, and the master copy for half precision. One rank's thread.
class AdamW {
 public:
  // `values`: what forward and backward read, one-dimensional, fp32, bf16 or fp16; fp32 values are their own master copy.
  // `stretches` cover them in order.
  AdamW(const std::vector<Stretch>& stretches, const tensor::Tensor& values, const config::OptimizerSettings& settings,
        const shape::StatePlace& place, Checksums checksums, tensor::Streams& streams, tensor::Ledger& ledger);

  // For checkpoints, fp32, each as long as the values; after writing to any of the three, call master_changed().
  const tensor::Tensor& m() const { return state_.stored(0); }
  const tensor::Tensor& v() const { return state_.stored(1); }
  const tensor::Tensor& master() const { return has_master_ ? state_.stored(2) : values_; }
  void master_changed();
  void settle() { state_.offload(); }  // after reading or writing any of the three

  void fetch() { state_.fetch(); }
  void offload() { state_.offload(); }

  // One update with `gradient` (fp32, as long as the values) times `gradient_scale`; the values follow the master copy.
  // `update` counts the updates from 1. With checksums: what had changed since the last step; everything is updated all the
  // same.
  std::optional<StateFault> step(const tensor::Tensor& gradient, double lr, double gradient_scale, std::int64_t update);

  // Between steps: what has changed since the last one, found by reading all of it. Nothing without checksums.
  std::optional<StateFault> find_fault() const;
  // Sums of the bits of the values that forward and backward read, as the last step wrote them, by stretch (kernels::bits_sum).
  // Empty where they are not known.
  std::vector<std::uint32_t> value_sums() const;

 private:
  using Sums = std::array<std::uint32_t, 4>;  // of one stretch, modulo 2^32; in the order of StateFault::Where
  struct SumsOfStep {                         // by stretch
    std::vector<Sums> read, written;
  };
  kernels::AdamWTensors tensors_of(const tensor::Tensor& gradient, const shape::Range& piece);
  static void add_sums(const tensor::Tensor& of_stretches, std::size_t first, SumsOfStep* sums);

  const tensor::Tensor values_;
  const config::OptimizerSettings settings_;
  const bool has_master_;
  const Checksums checksums_;
  std::vector<kernels::DecayStretch> stretches_;
  std::vector<Sums> known_;  // by stretch, as the last step wrote them; empty: not known
  OptimizerState state_;
};

}  // namespace troika::optimizer
