// The lengths of a run's samples, counted and in words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/resolve.h"
#include "plan/microbatch_sizes.h"
#include "records/sample_lengths.h"
#include "shape/sequences.h"

namespace troika::plan {

// The lengths that data have in such microbatches.
using LengthsOf = std::function<records::SampleLengths(const config::Batch& batch, const PositionCosts& costs)>;

// Counts samples and microbatches, in any order. Memory: 8 bytes for each length up to the longest.
class LengthCount {
 public:
  LengthCount(std::int64_t samples, std::int64_t seq_len, const PositionCosts& costs);  // of the data

  void add_sample(const std::vector<std::int64_t>& sequences);  // their lengths, each at least 1
  // Padded, a sample sees its own padding as its own; those that are packed are padded behind their last sequence.
  // targets: positions that carry loss.
  void add_microbatch(const std::vector<shape::Sequence>& microbatch, std::int64_t targets);
  records::SampleLengths result() const;

 private:
  struct Computed {
    double positions = 0, targets = 0, squares = 0, work = 0;
  };
  struct OfSample {
    std::int64_t tokens = 0;
    double squares = 0;
    std::int64_t sequences = 0;
  };
  void add_padded(const std::vector<OfSample>& samples, std::int64_t length, Computed* to) const;
  std::int64_t quantile(std::int64_t percent) const;

  const PositionCosts costs_;
  records::SampleLengths lengths_;
  std::vector<std::int64_t> samples_of_length_;
  std::int64_t microbatches_ = 0;
  Computed computed_, to_longest_, to_seq_len_;
};

// The sizes of microbatches as a run has recorded them: what it planned, but for the evaluations beside it and the ends of chunks.
SizesOf sizes_of(const records::SampleLengths& lengths);

// "2,000 samples of 8 to 2048 tokens, median 180"
base::Text describe_samples(const records::SampleLengths& lengths);
// "a microbatch has 5 to 3120 tokens, 412 on average; padded to its longest sample it would compute 1.9 times as many"
base::Text describe_microbatches(const records::SampleLengths& lengths);

// Lines of at most 80 columns: these, a histogram of bars, the costs of padding, and what packing would change. Indented by two columns.
std::string lengths_text(const records::SampleLengths& lengths, base::Language language);

}  // namespace troika::plan
