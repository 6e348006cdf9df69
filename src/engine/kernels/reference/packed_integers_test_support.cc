#include <algorithm>

#include "kernels/reference/reference_test_support.h"

namespace troika::kernels::reference {
namespace {

constexpr std::int64_t lanes = cpu::packed_lanes;

int bit_count(std::uint64_t bits) { return bits == 0 ? 0 : 64 - __builtin_clzll(bits); }
std::uint64_t unsigned_of(std::int64_t x) { return static_cast<std::uint64_t>(x); }

}  // namespace

cpu::BlockFormat block_format(const std::int64_t* x) {
  int with_sign = 0, shift = 64;
  for (std::int64_t i = 0; i < cpu::packed_block; ++i) {
    if (x[i] == 0) continue;
    with_sign = std::max(with_sign, bit_count(unsigned_of(x[i] < 0 ? ~x[i] : x[i])) + 1);
    shift = std::min(shift, __builtin_ctzll(unsigned_of(x[i])));
  }
  if (with_sign == 0) return {};
  return {with_sign - shift, shift};
}

void pack_block(const std::int64_t* x, const cpu::BlockFormat& format, std::uint64_t* words) {
  std::fill_n(words, lanes * format.width, 0);
  for (std::int64_t i = 0; i < cpu::packed_block; ++i) {
    for (int bit = 0; bit < format.width; ++bit) {
      const std::int64_t at = i / lanes * format.width + bit;
      words[at / 64 * lanes + i % lanes] |= (unsigned_of(x[i]) >> (format.shift + bit) & 1) << (at % 64);
    }
  }
}

void add_block(const std::uint64_t* words, const cpu::BlockFormat& format, std::int64_t* sum) {
  for (std::int64_t i = 0; i < cpu::packed_block; ++i) {
    std::uint64_t x = 0;
    for (int bit = 0; bit < 64 - format.shift && format.width > 0; ++bit) {
      const std::int64_t at = i / lanes * format.width + std::min(bit, format.width - 1);  // the sign continues
      x |= (words[at / 64 * lanes + i % lanes] >> (at % 64) & 1) << (format.shift + bit);
    }
    sum[i] = static_cast<std::int64_t>(unsigned_of(sum[i]) + x);
  }
}

}  // namespace troika::kernels::reference
