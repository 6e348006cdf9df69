#include "data/random_samples.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"

namespace troika::data {

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
