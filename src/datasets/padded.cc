#include "datasets/padded.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/loader.h"
#include "datasets/cut_sequences.h"

namespace troika::datasets {

PaddedSamples::PaddedSamples(std::shared_ptr<const Sequences> sequences, std::int64_t seq_len, const std::string& name)
    : sequences_(std::move(sequences)), seq_len_(seq_len) {
  check_targets(*sequences_, seq_len, name);
  const Kept kept = kept_of(*sequences_, seq_len);
  truncated_ = kept.truncated;
  tokens_ = kept.tokens;
}

void PaddedSamples::read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const {
  if (sample < 0 || sample >= samples())
    throw base::BugError(fmt::format("sample {} asked from a data set of {}", sample, samples()));
  const std::int64_t kept = std::min(seq_len_, sequences_->length(sample));
  read_cut(*sequences_, sample, kept, inputs, targets);
  std::fill(inputs + kept, inputs + seq_len_, 0);
  std::fill(targets + kept, targets + seq_len_, data::no_target);
}

std::string PaddedSamples::fingerprint() const {
  return base::hash_bytes(fmt::format("padded {} {}", seq_len_, sequences_->fingerprint()));
}

}  // namespace troika::datasets
