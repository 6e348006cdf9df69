#include "datasets/chosen_sequences.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/file.h"
#include "data/loader.h"

namespace troika::datasets {

std::string ChosenSequences::fingerprint() const {
  const std::string_view numbers{reinterpret_cast<const char*>(chosen_.data()), 8 * chosen_.size()};
  return base::hash_bytes(all_->fingerprint() + " " + base::hash_bytes(numbers));
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
    const auto has_target = [](std::int32_t label) { return label != data::no_target; };
    const auto targets =
        std::count_if(labels.begin() + 1, labels.begin() + static_cast<std::ptrdiff_t>(kept), has_target);
    if (targets > 0) chosen.push_back(i);
    result.targets += targets;
  }
  const bool all_chosen = static_cast<std::int64_t>(chosen.size()) == all->count();
  result.sequences = all_chosen ? all : std::make_shared<const ChosenSequences>(all, std::move(chosen));
  return result;
}

std::shared_ptr<const Sequences> first_sequences(std::shared_ptr<const Sequences> all, std::int64_t count) {
  if (count >= all->count()) return all;
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(count));
  std::iota(chosen.begin(), chosen.end(), 0);
  return std::make_shared<const ChosenSequences>(std::move(all), std::move(chosen));
}

}  // namespace troika::datasets
