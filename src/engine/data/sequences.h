// Token sequences of different lengths: the form of conversations, instructions and pre-tokenized lines after
// tokenizing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troika::data {

// Threads: const use is safe.
class Sequences {
 public:
  virtual ~Sequences() = default;
  virtual std::int64_t count() const = 0;
  virtual std::int64_t length(std::int64_t sequence) const = 0;  // ids, at least 1
  // Writes length(sequence) ids and labels. The label of an id is the id itself where a model that has read all ids before it
  // is to be taught to say it, else ignore_index.
  virtual void read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const = 0;
  // Equal where equal sequences have equal numbers; 16 hex digits.
  virtual std::string fingerprint() const = 0;
};

// Writes the first `kept` ids of a sequence, 1 <= kept <= its length, and for each the label of the next one; the last
// has no target.
void read_cut(const Sequences& sequences, std::int64_t sequence, std::int64_t kept, std::int32_t* inputs,
              std::int32_t* targets);

// DataError when no sequence has a target among its first seq_len ids. `name` is what the error calls them.
void check_targets(const Sequences& sequences, std::int64_t seq_len, const std::string& name);

// Some of the sequences of a source.
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
  std::shared_ptr<const Sequences> sequences;
  std::vector<std::int32_t> of_sequence;       // the targets of each, cut to seq_len ids
  std::int64_t targets = 0;                    // of all
};
// All of them. Reads all once.
WithTargets counted_targets(const std::shared_ptr<const Sequences>& all, std::int64_t seq_len);
// Those with a target among their first seq_len ids; the same object when all have one. Reads all once.
WithTargets with_targets(const std::shared_ptr<const Sequences>& all, std::int64_t seq_len);

// Those of at most `most` ids; the same object when all are.
std::shared_ptr<const Sequences> not_longer(const std::shared_ptr<const Sequences>& all, std::int64_t most);

// The first `count`, or all when there are fewer.
std::shared_ptr<const Sequences> first_sequences(const std::shared_ptr<const Sequences>& all, std::int64_t count);

}  // namespace troika::data
