// For tests with random cases: the same ones on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace troika::base {

// Draws one number after another.
class Draw {
 public:
  explicit Draw(const char* name) : random_(7, name) {}
  int from(int low, int high) {  // both included
    return low + std::min(high - low, static_cast<int>(random_.uniform(at_++) * (high - low + 1)));
  }
  bool one_in(int n) { return from(1, n) == 1; }
  double share() { return random_.uniform(at_++); }  // of 1
  template <class T>
  const T& any(const std::vector<T>& things) {
    return things[static_cast<std::size_t>(from(0, static_cast<int>(things.size()) - 1))];
  }

 private:
  const Philox random_;
  std::uint64_t at_ = 0;
};

}  // namespace troika::base
