#include "datasets/cut_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "data/loader.h"

namespace troika::datasets {

void read_cut(const Sequences& sequences, std::int64_t sequence, std::int64_t kept, std::int32_t* inputs,
              std::int32_t* targets) {
  const auto length = static_cast<std::size_t>(sequences.length(sequence));
  std::vector<std::int32_t> ids(length), labels(length);
  sequences.read(sequence, ids.data(), labels.data());
  std::copy_n(ids.data(), kept, inputs);
  std::copy_n(labels.data() + 1, kept - 1, targets);
  targets[kept - 1] = data::no_target;
}

Kept kept_of(const Sequences& sequences, std::int64_t seq_len) {
  Kept kept;
  for (std::int64_t i = 0; i < sequences.count(); ++i) {
    const std::int64_t length = sequences.length(i);
    kept.tokens += std::min(length, seq_len);
    if (length > seq_len) ++kept.truncated;
  }
  return kept;
}

static bool has_target(const Sequences& sequences, std::int64_t sequence, std::int64_t seq_len) {
  const std::int64_t kept = std::min(seq_len, sequences.length(sequence));
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(kept)), targets(inputs.size());
  read_cut(sequences, sequence, kept, inputs.data(), targets.data());
  return std::any_of(targets.begin(), targets.end(), [](std::int32_t target) { return target != data::no_target; });
}

void check_targets(const Sequences& sequences, std::int64_t seq_len, const std::string& name) {
  for (std::int64_t i = 0; i < sequences.count(); ++i)
    if (has_target(sequences, i, seq_len)) return;
  throw base::DataError(
      fmt::format("'{}' has {} samples, but no position with a target: one needs two ids at least and, behind the "
                  "first, within {} ids, a label",
                  name, sequences.count(), seq_len));
}

}  // namespace troika::datasets
