// Samples of uniformly random tokens, for measuring a run without data.
#pragma once

#include "base/random.h"
#include "data/samples.h"

namespace troika::data {

// Token t of sample i is a pure function of (seed, i, t), the same on every rank and host; all samples are one document.
class RandomSamples final : public Samples {
 public:
  // BugError unless vocab and seq_len are at least 1.
  RandomSamples(std::int64_t vocab, std::int64_t seq_len, std::uint64_t seed);

  std::int64_t samples() const override { return std::int64_t{1} << 32; }
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> document_starts(std::int64_t) const override { return {}; }
  std::string fingerprint() const override;

 private:
  const std::int64_t vocab_, seq_len_;
  const std::uint64_t seed_;
  const base::Philox tokens_;
};

}  // namespace troika::data
