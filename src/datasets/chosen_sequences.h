// Some of the sequences of a source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/sequences.h"

namespace troika::datasets {

// Threads: const use is safe.
class ChosenSequences final : public Sequences {
 public:
  // `chosen`: numbers of `all`, in the order that they get here.
  ChosenSequences(std::shared_ptr<const Sequences> all, std::vector<std::int64_t> chosen)
      : all_(std::move(all)), chosen_(std::move(chosen)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(chosen_.size()); }
  std::int64_t length(std::int64_t sequence) const override { return all_->length(number_of(sequence)); }
  void read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const override {
    all_->read(number_of(sequence), ids, labels);
  }
  std::string fingerprint() const override;

 private:
  std::int64_t number_of(std::int64_t sequence) const { return chosen_[static_cast<std::size_t>(sequence)]; }

  const std::shared_ptr<const Sequences> all_;
  const std::vector<std::int64_t> chosen_;
};

struct WithTargets {
  std::shared_ptr<const Sequences> sequences;  // the same object when all have a target
  std::int64_t targets = 0;                    // of all, each cut to seq_len ids
};
// Those with a target among their first seq_len ids. Reads all once.
WithTargets with_targets(std::shared_ptr<const Sequences> all, std::int64_t seq_len);

// The first `count`, or all when there are fewer.
std::shared_ptr<const Sequences> first_sequences(std::shared_ptr<const Sequences> all, std::int64_t count);

}  // namespace troika::datasets
