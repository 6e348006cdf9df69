#include "data/sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace troika::data {

Sampler::Sampler(std::int64_t samples, std::uint64_t seed, SampleOrder order)
    : samples_(static_cast<std::uint64_t>(samples)), seed_(seed), order_(order) {
  if (samples < 1) throw base::BugError(fmt::format("a sampler over {} samples was asked", samples));
}

SampleId Sampler::locate(std::uint64_t global_sample_index) const {
  const std::uint64_t epoch = global_sample_index / samples_, place = global_sample_index % samples_;
  if (order_ == SampleOrder::natural) return {epoch, place};
  const std::uint64_t epoch_seed = base::Philox(seed_, "data order").bits(epoch);
  return {epoch, base::permute(place, samples_, epoch_seed)};
}

std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t global_batch) {
  return std::max<std::int64_t>(1, samples / global_batch);
}

std::int64_t steps_for_epochs(std::int64_t samples, std::int64_t global_batch, double epochs) {
  const double steps = static_cast<double>(samples) * epochs / static_cast<double>(global_batch);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
}

}  // namespace troika::data
