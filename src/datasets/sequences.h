// Token sequences of different lengths: what conversations, instructions and pre-tokenized lines become.
#pragma once

#include <cstdint>
#include <string>

namespace troika::datasets {

// Threads: const use is safe.
class Sequences {
 public:
  virtual ~Sequences() = default;
  virtual std::int64_t count() const = 0;
  virtual std::int64_t length(std::int64_t sequence) const = 0;  // ids, at least 1
  // Writes length(sequence) ids and labels. The label of an id is the id itself where a model that has read all ids before it
  // is to be taught to say it, else data::no_target.
  virtual void read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const = 0;
  // Equal where equal sequences have equal numbers; 16 hex digits.
  virtual std::string fingerprint() const = 0;
};

}  // namespace troika::datasets
