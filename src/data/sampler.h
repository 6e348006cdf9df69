// Which sample stands at which place of the endless training stream. A place is a global sample index: it counts rows
// over all steps and ranks, so it says where the data are after any step in any layout.
#pragma once

#include <cstdint>

namespace troika::data {

struct SampleId {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;  // of the data set
};

// shuffled: a fresh permutation per epoch, in O(1) memory, a pure function of (seed, place). natural: the order of the
// data set, in every epoch.
enum class SampleOrder { shuffled, natural };

// Threads: const, safe.
class Sampler {
 public:
  Sampler(std::int64_t samples, std::uint64_t seed, SampleOrder order = SampleOrder::shuffled);  // samples >= 1

  SampleId locate(std::uint64_t global_sample_index) const;
  std::uint64_t sample_at(std::uint64_t global_sample_index) const { return locate(global_sample_index).index; }
  std::int64_t samples() const { return static_cast<std::int64_t>(samples_); }

 private:
  std::uint64_t samples_;
  std::uint64_t seed_;
  SampleOrder order_;
};

// Full steps of `global_batch` rows that one epoch holds; at least 1 (the stream goes on into the next epoch).
std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t global_batch);

// Steps of `epochs` epochs, rounded down; at least 1.
std::int64_t steps_for_epochs(std::int64_t samples, std::int64_t global_batch, double epochs);

}  // namespace troika::data
