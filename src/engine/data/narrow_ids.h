// Token ids of 16 bits, as shards and parts hold those of small vocabularies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troika::data {

inline constexpr std::int64_t narrow_vocab_size = std::int64_t{1} << 16;  // at most so many ids fit

// The lower 16 bits of `ids`. Writes over `narrow`, whose memory is used again.
inline void narrow_ids(const std::vector<std::int32_t>& ids, std::vector<std::uint16_t>* narrow) {
  static constexpr std::size_t step = 16;  // in vector registers
  narrow->resize(ids.size());
  const std::int32_t* __restrict from = ids.data();
  std::uint16_t* __restrict to = narrow->data();
  std::size_t i = 0;
  for (; i + step <= ids.size(); i += step)
    for (std::size_t k = 0; k < step; ++k) to[i + k] = static_cast<std::uint16_t>(from[i + k]);
  for (; i < ids.size(); ++i) to[i] = static_cast<std::uint16_t>(from[i]);
}

}  // namespace troika::data
