#include "train/frozen.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "model/decoder.h"
#include "tensor/booked.h"
#include "train/snapshot.h"
#include "train/step_shape.h"

namespace troika::train {
namespace {

using executor::Bucket;

std::vector<Bucket*> frozen_buckets(const executor::Units& units) {
  std::vector<Bucket*> all;
  for (const auto& [segment, unit] : units) {
    for (Bucket* bucket : unit->buckets()) {
      if (bucket->has_parameters() && !bucket->is_trained()) all.push_back(bucket);
    }
  }
  return all;
}

template <class Set>
void by_way_of_fp32(const c10::Device& device, const Bucket& bucket, tensor::Ledger& ledger, const Set& set) {
  const at::Tensor& own = bucket.own_values();
  const at::Tensor exact = tensor::booked_empty(own.numel(), at::kFloat, device, ledger, tensor::Use::parameters);
  set(exact);
  own.copy_(exact);
}

// Of the rank that has most; alike on all ranks.
std::size_t most_buckets(const Plan& plan) {
  std::vector<std::size_t> of_pp_rank(static_cast<std::size_t>(plan.shape.pp));
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    std::size_t& count =
        of_pp_rank[static_cast<std::size_t>(plan.program.pp_rank_of_stage[static_cast<std::size_t>(stage)])];
    for (int g = plan.program.first_segment(stage); g < plan.program.end_segment(stage); ++g) {
      for (const BucketShape& bucket : buckets_of(plan, g, plan.tensor_share({})))
        count += bucket.has_values && !bucket.trained ? 1 : 0;
    }
  }
  return *std::max_element(of_pp_rank.begin(), of_pp_rank.end());
}

}  // namespace

void load_frozen(const Plan& plan, const executor::Units& units, const FillWeights& fill, tensor::Ledger& ledger) {
  const std::vector<Bucket*> buckets = frozen_buckets(units);
  if (plan.dtype() == at::kFloat) {
    std::vector<checkpoint::Slice> all;
    for (const Bucket* bucket : buckets) {
      const auto weights = weights_in(*bucket, bucket->own_values());
      all.insert(all.end(), weights.begin(), weights.end());
    }
    return fill(all);
  }
  for (std::size_t k = 0; k < most_buckets(plan); ++k) {
    if (k >= buckets.size()) {
      fill({});
      continue;
    }
    by_way_of_fp32(buckets[k]->own_values().device(), *buckets[k], ledger,
                   [&](const at::Tensor& exact) { fill(weights_in(*buckets[k], exact)); });
  }
}

void initialise_frozen(const executor::Units& units, std::uint64_t seed, double init_std, tensor::Ledger& ledger) {
  for (Bucket* bucket : frozen_buckets(units)) {
    const auto set = [&](const at::Tensor& exact) {
      model::initialise(bucket->layout(), bucket->held(), exact, seed, init_std);
    };
    const at::Tensor& own = bucket->own_values();
    if (own.is_cpu() && own.scalar_type() == at::kFloat) {
      set(own);
    } else {
      by_way_of_fp32(at::kCPU, *bucket, ledger, set);
    }
  }
}

}  // namespace troika::train
