// Samples of one length, by number: what a run trains on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::data {

// Of one sample. joined: they run into each other, attention and positions go on. apart: none sees another, and
// positions begin anew in each.
enum class Documents { joined, apart };

// A sample is seq_len inputs and the token after each of them. Threads: const use is safe.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t seq_len() const = 0;
  // Writes seq_len inputs and seq_len targets.
  virtual void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const = 0;
  // Positions in [1, seq_len), ascending.
  virtual std::vector<std::int64_t> document_starts(std::int64_t sample) const = 0;
  virtual Documents documents() const { return Documents::joined; }
  // Equal where equal samples have equal numbers.
  virtual std::string fingerprint() const = 0;
};

}  // namespace troika::data
