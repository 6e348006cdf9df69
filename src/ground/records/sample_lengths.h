// The lengths of the samples that a run trains on, and what its microbatches of them hold. Format: docs/formats/records.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace troika::records {

struct SampleLengths {
  // Samples of `above` < length <= `up_to` tokens.
  struct Bin {
    std::int64_t above = 0, up_to = 0, samples = 0;
  };

  std::int64_t samples = 0;    // of the data
  std::int64_t counted = 0;    // of these, evenly spaced; all numbers below are theirs
  std::int64_t sequences = 0;  // more than samples where they are packed
  std::int64_t tokens = 0;
  std::int64_t shortest = 0, median = 0, p90 = 0, longest = 0;
  std::int64_t seq_len = 0;  // the longest that is allowed
  std::vector<Bin> bins;     // ascending and without a gap, by powers of two

  // Of a microbatch: tokens, which are all that is computed.
  std::int64_t least_tokens = 0, most_tokens = 0;
  double mean_tokens = 0;
  std::int64_t most_targets = 0;  // tokens that carry loss; 0: not recorded
  double mean_targets = 0;
  double mean_squares = 0;  // of its sequences' tokens, added up
  // How many times as much padding every sample to the longest of its microbatch, or to seq_len, would compute: positions, and
  // multiply-adds.
  double longest_positions = 1, longest_work = 1, full_positions = 1, full_work = 1;

  double mean() const { return counted > 0 ? static_cast<double>(tokens) / static_cast<double>(counted) : 0; }
  bool packed() const { return sequences > counted; }
  // The samples that packing would make of the data, about: full but for their last tokens.
  std::int64_t if_packed() const;
};

nlohmann::ordered_json to_json_object(const SampleLengths& lengths);
// Nothing for what is no such object or counts nothing.
std::optional<SampleLengths> sample_lengths_of(const nlohmann::json& object);

}  // namespace troika::records
