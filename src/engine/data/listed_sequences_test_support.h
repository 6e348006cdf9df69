// Sequences written out in a test, and rows of samples to look at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "data/samples.h"
#include "data/sequences.h"

namespace troika::data {

using Ids = std::vector<std::int32_t>;

class ListedSequences final : public Sequences {
 public:
  struct One {
    Ids ids, labels;
  };
  explicit ListedSequences(std::vector<One> all) : all_(std::move(all)) {}
  // Sequence i of `lengths[i]` ids 100 i + 1, 100 i + 2, ..., which are their labels.
  static ListedSequences of_lengths(const std::vector<std::int64_t>& lengths) {
    std::vector<One> all;
    for (const std::int64_t length : lengths) {
      Ids ids(static_cast<std::size_t>(length));
      std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(100 * all.size() + 1));
      all.push_back({ids, ids});
    }
    return ListedSequences(std::move(all));
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(all_.size()); }
  std::int64_t length(std::int64_t i) const override { return static_cast<std::int64_t>(at(i).ids.size()); }
  void read(std::int64_t i, std::int32_t* ids, std::int32_t* labels) const override {
    std::copy(at(i).ids.begin(), at(i).ids.end(), ids);
    std::copy(at(i).labels.begin(), at(i).labels.end(), labels);
  }
  std::string fingerprint() const override { return "listed"; }

 private:
  const One& at(std::int64_t i) const { return all_.at(static_cast<std::size_t>(i)); }
  std::vector<One> all_;
};

struct Row {
  Ids inputs, targets;
};

inline Row row_of(const Samples& samples, std::int64_t sample) {
  std::size_t length = 0;
  for (const std::int64_t of_sequence : samples.lengths(sample)) length += static_cast<std::size_t>(of_sequence);
  Row row{Ids(length, 99), Ids(length, 99)};
  samples.read(sample, row.inputs.data(), row.targets.data());
  return row;
}

}  // namespace troika::data
