#include "data/sequences.h"

#include <algorithm>
#include <string_view>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "data/samples.h"

namespace troika::data {

void read_cut(const Sequences& sequences, std::int64_t sequence, std::int64_t kept, std::int32_t* inputs,
              std::int32_t* targets) {
  const auto length = static_cast<std::size_t>(sequences.length(sequence));
  std::vector<std::int32_t> ids(length), labels(length);
  sequences.read(sequence, ids.data(), labels.data());
  std::copy_n(ids.data(), kept, inputs);
  std::copy_n(labels.data() + 1, kept - 1, targets);
  targets[kept - 1] = ignore_index;
}

// The targets of one sequence, cut to seq_len ids.
static std::int64_t count_targets(const Sequences& sequences, std::int64_t sequence, std::int64_t seq_len) {
  const auto length = static_cast<std::size_t>(sequences.length(sequence));
  std::vector<std::int32_t> ids(length), labels(length);
  sequences.read(sequence, ids.data(), labels.data());
  labels.resize(std::min(length, static_cast<std::size_t>(seq_len)));
  return std::count_if(labels.begin() + 1, labels.end(), [](std::int32_t label) { return label != ignore_index; });
}

void check_targets(const Sequences& sequences, std::int64_t seq_len, const std::string& name) {
  for (std::int64_t i = 0; i < sequences.count(); ++i)
    if (count_targets(sequences, i, seq_len) > 0) return;
  throw base::DataError(base::say("'{}' has {} samples, but no position with a target: a sample needs at least two ids and, after the first, a label within {} ids", name, sequences.count(), seq_len),
      base::Cause::no_training_tokens);
}

std::string ChosenSequences::fingerprint() const {
  const std::string_view chosen{reinterpret_cast<const char*>(chosen_.data()), 8 * chosen_.size()};
  return base::hash_bytes(all_->fingerprint() + " " + base::hash_bytes(chosen));
}

// Those that `wanted` chooses by their numbers; the same object when these are all.
template <class Wanted>
static std::shared_ptr<const Sequences> choose(std::shared_ptr<const Sequences> all, const Wanted& wanted) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < all->count(); ++i)
    if (wanted(i)) chosen.push_back(i);
  if (static_cast<std::int64_t>(chosen.size()) == all->count()) return all;
  return std::make_shared<const ChosenSequences>(std::move(all), std::move(chosen));
}

WithTargets counted_targets(const std::shared_ptr<const Sequences>& all, std::int64_t seq_len) {
  WithTargets result{all, {}, 0};
  for (std::int64_t sequence = 0; sequence < all->count(); ++sequence) {
    const std::int64_t targets = count_targets(*all, sequence, seq_len);
    result.of_sequence.push_back(static_cast<std::int32_t>(targets));
    result.targets += targets;
  }
  return result;
}

WithTargets with_targets(const std::shared_ptr<const Sequences>& all, std::int64_t seq_len) {
  WithTargets counted = counted_targets(all, seq_len);
  std::vector<std::int32_t>& targets = counted.of_sequence;
  counted.sequences = choose(all, [&](std::int64_t sequence) { return targets[static_cast<std::size_t>(sequence)] > 0; });
  targets.erase(std::remove(targets.begin(), targets.end(), 0), targets.end());
  return counted;
}

std::shared_ptr<const Sequences> not_longer(const std::shared_ptr<const Sequences>& all, std::int64_t most) {
  return choose(all, [&](std::int64_t sequence) { return all->length(sequence) <= most; });
}

std::shared_ptr<const Sequences> first_sequences(const std::shared_ptr<const Sequences>& all, std::int64_t count) {
  return choose(all, [&](std::int64_t sequence) { return sequence < count; });
}

}  // namespace troika::data
