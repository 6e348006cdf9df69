// Several sources as one, in stated proportions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/choices.h"
#include "data/samples.h"

namespace troika::data {

using config::Mix;  // what weights mean

struct MixtureSource {
  std::shared_ptr<const Samples> samples;
  double weight = 1;
};

// Sources follow each other; a sampler mixes them. A source that an epoch holds w times is there floor(w)
// times as it is, and then with a subset that the seed chooses, the same in every epoch.
// Memory: O(sources). Threads: const use is safe.
class MixtureSamples final : public Samples {
 public:
  // All sources have one seq_len. ConfigError naming data.weights when a weight is negative or nothing is left.
  MixtureSamples(std::vector<MixtureSource> sources, Mix mix, std::uint64_t seed);

  std::int64_t samples() const override { return first_.back(); }
  std::int64_t seq_len() const override { return sources_.front().samples->seq_len(); }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> lengths(std::int64_t sample) const override;
  std::int64_t targets(std::int64_t sample) const override;
  std::vector<std::int64_t> document_starts(std::int64_t sample) const override;
  bool are_full() const override;
  std::string fingerprint() const override;

  struct SourceSample {
    std::size_t source = 0;
    std::int64_t sample = 0;  // of the source
  };
  SourceSample source_of(std::int64_t sample) const;
  std::int64_t samples_of(std::size_t source) const { return first_[source + 1] - first_[source]; }  // in an epoch

 private:
  const std::vector<MixtureSource> sources_;
  const std::uint64_t seed_;
  std::vector<std::int64_t> first_;  // of each source, and the end
};

// Samples split into those to train on and those kept for evaluation.
struct Split {
  std::shared_ptr<const Samples> training, validation;
};

// The samples are cut into as many stretches of equal length (give or take one) as validation gets samples, 0 <
// `count` < all of them; of each, (seed, stretch) chooses one for validation. The parts are disjoint and together
// all; each keeps the order. O(1) memory. A sample that appears twice in `all` may be in both parts: split sources
// before mixing them.
Split split(std::shared_ptr<const Samples> all, std::int64_t count, std::uint64_t seed);

// How many of each source validation gets, by data.valid_share: below 1 a share of all samples, rounded, one at least;
// else a count. In proportion to `sizes`, rounded at the running sum, so that a small source may give none; each keeps
// one for training. ConfigError naming data.valid_share and `sources` when they have too few for that.
std::vector<std::int64_t> validation_counts(const std::vector<std::int64_t>& sizes, double share,
                                            const std::string& sources);

}  // namespace troika::data
