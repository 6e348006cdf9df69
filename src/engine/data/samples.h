// The samples that a run trains on, addressed by index: at most seq_len positions each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/settings/settings.h"

namespace troika::data {

// The label of a position without loss, as in PyTorch and in files of token ids.
inline constexpr std::int32_t ignore_index = -100;

// A sample is inputs and the token after each of them: one sequence, or several end to end, none of which sees another.
// Threads: const use is safe.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t seq_len() const = 0;
  // The positions of each of its sequences, in order, at least 1.
  virtual std::vector<std::int64_t> lengths(std::int64_t) const { return {seq_len()}; }
  // Its positions that carry loss.
  virtual std::int64_t targets(std::int64_t sample) const;
  // Writes an input and a target for each position: the next token, ignore_index where there is no loss.
  virtual void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const = 0;
  // For readers of a sample: the positions after the first at which a document begins. A sequence may hold several.
  virtual std::vector<std::int64_t> document_starts(std::int64_t sample) const;
  // Whether every sample is one sequence of seq_len positions.
  virtual bool are_full() const { return true; }
  // Equal where equal samples have equal numbers.
  virtual std::string fingerprint() const = 0;
};

// The samples of one source among several sources in a row.
struct SourcePart {
  std::string name;  // short, of no other
  std::int64_t samples = 0;
};

// shuffled: a fresh permutation per epoch, in O(1) memory, a pure function of (seed, place). natural: the order of the
// data set, in every epoch.
enum class SampleOrder { shuffled, natural };

// The sample at each place of the endless training stream. A place is a global sample index: it counts rows
// over all steps and ranks, so it says where the data are after any step in any layout. Threads: const, safe.
class Sampler {
 public:
  Sampler(std::int64_t samples, std::uint64_t seed, SampleOrder order = SampleOrder::shuffled);  // samples >= 1

  std::uint64_t sample_at(std::uint64_t global_sample_index) const;
  std::int64_t samples() const { return static_cast<std::int64_t>(samples_); }

 private:
  std::uint64_t samples_;
  std::uint64_t seed_;
  SampleOrder order_;
};

// As the settings say how a run reads its samples.
Sampler sampler_of(const Samples& samples, const config::Settings& settings);

// Samples of uniformly random tokens, for measuring a run without data.
// Token t of sample i is a pure function of (seed, i, t), the same on every rank and host; each sample is one sequence.
class RandomSamples final : public Samples {
 public:
  // BugError unless vocab and seq_len are at least 1.
  RandomSamples(std::int64_t vocab, std::int64_t seq_len, std::uint64_t seed);

  std::int64_t samples() const override { return std::int64_t{1} << 32; }
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::string fingerprint() const override;

 private:
  const std::int64_t vocab_, seq_len_;
  const std::uint64_t seed_;
  const base::Philox tokens_;
};

}  // namespace troika::data
