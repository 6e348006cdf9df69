// Sequences as rows of a sample: cut to its length, with targets.
#pragma once

#include <cstdint>
#include <string>

#include "datasets/sequences.h"

namespace troika::datasets {

// Writes the first `kept` ids of a sequence, 1 <= kept <= its length, and for each the label of the next one; the last
// has no target.
void read_cut(const Sequences& sequences, std::int64_t sequence, std::int64_t kept, std::int32_t* inputs,
              std::int32_t* targets);

struct Kept {
  std::int64_t truncated = 0;  // sequences longer than seq_len
  std::int64_t tokens = 0;     // ids of all, each at most seq_len of them
};
Kept kept_of(const Sequences& sequences, std::int64_t seq_len);

// DataError when no sequence has a target among its first seq_len ids. `name` is what the error calls them.
void check_targets(const Sequences& sequences, std::int64_t seq_len, const std::string& name);

}  // namespace troika::datasets
