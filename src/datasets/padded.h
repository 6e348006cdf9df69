// One sequence per sample, filled up to the length of a sample.
#pragma once

#include <memory>

#include "data/samples.h"
#include "datasets/sequences.h"

namespace troika::datasets {

// Sample i is sequence i, at most its first seq_len ids. The target of a position is the label of the next id; the last
// position and what fills the sample up (input 0) have none. Threads: const use is safe.
class PaddedSamples final : public data::Samples {
 public:
  // `name` is what errors call the sequences. DataError when no position has a target.
  PaddedSamples(std::shared_ptr<const Sequences> sequences, std::int64_t seq_len, const std::string& name);

  std::int64_t samples() const override { return sequences_->count(); }
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> document_starts(std::int64_t) const override { return {}; }
  std::string fingerprint() const override;

  std::int64_t truncated() const { return truncated_; }  // sequences cut to seq_len
  std::int64_t tokens() const { return tokens_; }        // kept ids of all samples

 private:
  const std::shared_ptr<const Sequences> sequences_;
  const std::int64_t seq_len_;
  std::int64_t truncated_ = 0, tokens_ = 0;
};

}  // namespace troika::datasets
