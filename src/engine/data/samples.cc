#include "data/samples.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/file.h"

namespace troika::data {

Sampler::Sampler(std::int64_t samples, std::uint64_t seed, SampleOrder order)
    : samples_(static_cast<std::uint64_t>(samples)), seed_(seed), order_(order) {
  if (samples < 1) throw base::BugError(fmt::format("a sampler over {} samples was requested", samples));
}

std::uint64_t Sampler::sample_at(std::uint64_t global_sample_index) const {
  const std::uint64_t epoch = global_sample_index / samples_, place = global_sample_index % samples_;
  if (order_ == SampleOrder::natural) return place;
  const std::uint64_t epoch_seed = base::Philox(seed_, "data order").bits(epoch);
  return base::permute(place, samples_, epoch_seed);
}

Sampler sampler_of(const Samples& samples, const config::Settings& settings) {
  return {samples.samples(), settings.train.seed, settings.data.shuffle ? SampleOrder::shuffled : SampleOrder::natural};
}

std::int64_t Samples::targets(std::int64_t sample) const {
  const std::vector<std::int64_t> all = lengths(sample);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

std::vector<std::int64_t> Samples::document_starts(std::int64_t sample) const {
  std::vector<std::int64_t> starts = lengths(sample);
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  starts.pop_back();
  return starts;
}

RandomSamples::RandomSamples(std::int64_t vocab, std::int64_t seq_len, std::uint64_t seed)
    : vocab_(vocab), seq_len_(seq_len), seed_(seed), tokens_(seed, "random samples") {
  if (vocab < 1 || seq_len < 1)
    throw base::BugError(fmt::format("random samples of {} tokens from a vocabulary of {}", seq_len, vocab));
}

void RandomSamples::read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const {
  const auto first = static_cast<std::uint64_t>(sample * (seq_len_ + 1));
  for (std::int64_t t = 0; t <= seq_len_; ++t) {
    const double u = tokens_.uniform(first + static_cast<std::uint64_t>(t));
    const auto token = static_cast<std::int32_t>(u * static_cast<double>(vocab_));
    if (t < seq_len_) inputs[t] = token;
    if (t > 0) targets[t - 1] = token;
  }
}

std::string RandomSamples::fingerprint() const {
  return base::hash_bytes(fmt::format("random {} {} {}", vocab_, seq_len_, seed_));
}

}  // namespace troika::data
