// Token sequences as samples: one per sample, or several packed into one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/samples.h"
#include "data/sequences.h"

namespace troika::data {

// Packing::none: sample i is sequence i, at most its first seq_len ids. The target of a position is the label of the next id; the
// last position has none.
//
// Packing::several: several sequences in one sample, so that samples are about equally long. They are whole, cut only where one is longer
// than seq_len, and dealt out by best-fit decreasing (D. Johnson, 1973): from the longest to the shortest, each into the fullest
// sample that has room. Which are together follows from their lengths alone. Within a sample they are in ascending order, and samples
// are in the order of their first ones. No target leads into the next sequence. Memory: 8 bytes a sequence and 8 a sample; for the counts
// of targets 4 a sequence. Threads: const use is safe.
class SequenceSamples final : public Samples {
 public:
  enum class Packing { none, several };
  // `taught`: all of its sequences are taken, counted for this seq_len. BugError when none has a target (check_targets).
  SequenceSamples(WithTargets taught, std::int64_t seq_len, Packing packing = Packing::none);

  std::int64_t samples() const override;
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> lengths(std::int64_t sample) const override;
  std::int64_t targets(std::int64_t sample) const override;
  bool are_full() const override { return false; }
  std::string fingerprint() const override;

  std::vector<std::int64_t> sequences_of(std::int64_t sample) const;
  std::int64_t truncated() const { return truncated_; }  // sequences cut to seq_len
  std::int64_t tokens() const { return tokens_; }        // kept ids of all samples
  double fill() const;                                   // share of all positions that hold ids of sequences

 private:
  std::int64_t kept(std::int64_t sequence) const;

  const WithTargets taught_;
  const std::int64_t seq_len_;
  const Packing packing_;
  std::vector<std::int64_t> order_, first_;  // packed sample i holds order_[first_[i]] .. order_[first_[i + 1] - 1]
  std::int64_t truncated_ = 0, tokens_ = 0;
};

// Best-fit decreasing of `lengths`, each from 1 to `room`: for every one of them the number of its bin; bins are
// numbered by their lowest member. O(n log room).
std::vector<std::int64_t> pack(const std::vector<std::int64_t>& lengths, std::int64_t room);

}  // namespace troika::data
