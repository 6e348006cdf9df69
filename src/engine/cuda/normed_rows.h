// What the norms read.
#pragma once

#include <cstdint>

#include "cuda/block.h"
#include "cuda/number.h"

namespace troika::cuda {

// A pack of what is normed. `at`: of the element in its matrix.
template <class T, int n>
struct NormedRows {
  const T* x;      // M x D
  const T* delta;  // M x D or null: added to x first
  T* sum;          // M x D: x + delta, rounded; null without delta

  TROIKA_DEVICE Pack<T, n> read(std::int64_t at) const {
    Pack<T, n> pack = loaded<n>(x + at);
    if (delta == nullptr) return pack;
    const Pack<T, n> more = loaded<n>(delta + at);
    TROIKA_UNROLL
    for (int j = 0; j < n; ++j) pack.set(j, pack[j] + more[j]);
    store<n>(sum + at, pack);
    return pack;
  }
  TROIKA_DEVICE const T* normed() const { return delta == nullptr ? x : sum; }
};

}  // namespace troika::cuda
