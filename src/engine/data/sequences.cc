#include "data/sequences.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "data/loader.h"
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

static bool has_target(const Sequences& sequences, std::int64_t sequence, std::int64_t seq_len) {
  const std::int64_t kept = std::min(seq_len, sequences.length(sequence));
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(kept)), targets(inputs.size());
  read_cut(sequences, sequence, kept, inputs.data(), targets.data());
  return std::any_of(targets.begin(), targets.end(), [](std::int32_t target) { return target != ignore_index; });
}

void check_targets(const Sequences& sequences, std::int64_t seq_len, const std::string& name) {
  for (std::int64_t i = 0; i < sequences.count(); ++i)
    if (has_target(sequences, i, seq_len)) return;
  throw base::DataError(base::say("'{}' has {} samples, but no position with a target: a sample needs at least two ids and, after the first, a label within {} ids", name, sequences.count(), seq_len),
      base::Cause::no_training_tokens);
}

std::string ChosenSequences::fingerprint() const {
  const std::string_view chosen{reinterpret_cast<const char*>(chosen_.data()), 8 * chosen_.size()};
  return base::hash_bytes(all_->fingerprint() + " " + base::hash_bytes(chosen));
}

WithTargets with_targets(std::shared_ptr<const Sequences> all, std::int64_t seq_len) {
  WithTargets result;
  std::vector<std::int64_t> chosen;
  std::vector<std::int32_t> ids, labels;
  for (std::int64_t i = 0; i < all->count(); ++i) {
    const auto length = static_cast<std::size_t>(all->length(i));
    ids.resize(std::max(ids.size(), length));
    labels.resize(ids.size());
    all->read(i, ids.data(), labels.data());
    const std::size_t kept = std::min(length, static_cast<std::size_t>(seq_len));
    const auto has_target = [](std::int32_t label) { return label != ignore_index; };
    const auto targets =
        std::count_if(labels.begin() + 1, labels.begin() + static_cast<std::ptrdiff_t>(kept), has_target);
    if (targets > 0) chosen.push_back(i);
    result.targets += targets;
  }
  const bool all_chosen = static_cast<std::int64_t>(chosen.size()) == all->count();
  result.sequences = all_chosen ? all : std::make_shared<const ChosenSequences>(all, std::move(chosen));
  return result;
}

std::shared_ptr<const Sequences> not_longer(std::shared_ptr<const Sequences> all, std::int64_t most) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < all->count(); ++i)
    if (all->length(i) <= most) chosen.push_back(i);
  if (static_cast<std::int64_t>(chosen.size()) == all->count()) return all;
  return std::make_shared<const ChosenSequences>(std::move(all), std::move(chosen));
}

std::shared_ptr<const Sequences> first_sequences(std::shared_ptr<const Sequences> all, std::int64_t count) {
  if (count >= all->count()) return all;
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(count));
  std::iota(chosen.begin(), chosen.end(), 0);
  return std::make_shared<const ChosenSequences>(std::move(all), std::move(chosen));
}

}  // namespace troika::data
