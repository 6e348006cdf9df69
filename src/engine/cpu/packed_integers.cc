#include "cpu/grid.h"

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/packed_integers.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Words {
  hn::CappedTag<std::uint64_t, packed_lanes> bits;
  hn::RebindToSigned<decltype(bits)> integers;
  std::int64_t lanes() const { return static_cast<std::int64_t>(hn::Lanes(bits)); }
};

// The bits of all lanes.
template <class Bits>
std::uint64_t joined(const Words& d, Bits bits) {
  alignas(32) std::array<std::uint64_t, packed_lanes> lanes{};
  hn::Store(bits, d.bits, lanes.data());
  std::uint64_t all = 0;
  for (const std::uint64_t lane : lanes) all |= lane;
  return all;
}

BlockFormat block_format(const std::int64_t* x) {
  const Words d;
  auto any = hn::Zero(d.bits), magnitude = hn::Zero(d.bits);
  for (std::int64_t i = 0; i < packed_block; i += d.lanes()) {
    const auto integer = hn::LoadU(d.integers, x + i);
    any = hn::Or(any, hn::BitCast(d.bits, integer));
    magnitude = hn::Or(magnitude, hn::BitCast(d.bits, hn::Xor(integer, hn::BroadcastSignBit(integer))));
  }
  const std::uint64_t any_bits = joined(d, any), magnitude_bits = joined(d, magnitude);
  if (any_bits == 0) return {};
  const int shift = __builtin_ctzll(any_bits);
  const int with_sign = (magnitude_bits == 0 ? 0 : 64 - __builtin_clzll(magnitude_bits)) + 1;
  return {with_sign - shift, shift};
}

void pack_block(const std::int64_t* x, const BlockFormat& format, std::uint64_t* words) {
  const Words d;
  const int width = format.width, shift = format.shift;
  if (width == 0) return;
  const auto mask = hn::Set(d.bits, ~std::uint64_t{0} >> (64 - width));
  for (std::int64_t lane = 0; lane < packed_lanes; lane += d.lanes()) {
    std::uint64_t* out = words + lane;
    auto held = hn::Zero(d.bits);
    int filled = 0;
    for (std::int64_t i = lane; i < packed_block; i += packed_lanes) {
      const auto integer = hn::BitCast(d.bits, hn::LoadU(d.integers, x + i));
      const auto value = hn::And(hn::ShiftRightSame(integer, shift), mask);
      held = hn::Or(held, hn::ShiftLeftSame(value, filled));
      filled += width;
      if (filled >= 64) {
        hn::StoreU(held, d.bits, out);
        out += packed_lanes;
        filled -= 64;
        held = filled == 0 ? hn::Zero(d.bits) : hn::ShiftRightSame(value, width - filled);
      }
    }
  }
}

void add_block(const std::uint64_t* words, const BlockFormat& format, std::int64_t* sum) {
  const Words d;
  const int width = format.width, shift = format.shift;
  if (width == 0) return;
  const auto mask = hn::Set(d.bits, ~std::uint64_t{0} >> (64 - width));
  const auto sign = hn::Set(d.bits, std::uint64_t{1} << (width - 1));
  for (std::int64_t lane = 0; lane < packed_lanes; lane += d.lanes()) {
    const std::uint64_t* in = words + lane;
    auto held = hn::LoadU(d.bits, in);
    int used = 0;
    for (std::int64_t i = lane; i < packed_block; i += packed_lanes) {
      if (used == 64) {
        in += packed_lanes;
        held = hn::LoadU(d.bits, in);
        used = 0;
      }
      auto value = hn::ShiftRightSame(held, used);
      used += width;
      if (used > 64) {
        in += packed_lanes;
        held = hn::LoadU(d.bits, in);
        used -= 64;
        value = hn::Or(value, hn::ShiftLeftSame(held, width - used));
      }
      const auto extended = hn::Sub(hn::Xor(hn::And(value, mask), sign), sign);
      const auto integer = hn::BitCast(d.integers, hn::ShiftLeftSame(extended, shift));
      hn::StoreU(hn::Add(hn::LoadU(d.integers, sum + i), integer), d.integers, sum + i);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {

HWY_EXPORT(block_format);
HWY_EXPORT(pack_block);
HWY_EXPORT(add_block);

}  // namespace

BlockFormat block_format(const std::int64_t* x) { return HWY_DYNAMIC_DISPATCH(block_format)(x); }

void pack_block(const std::int64_t* x, const BlockFormat& format, std::uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(pack_block)(x, format, words);
}

void add_block(const std::uint64_t* words, const BlockFormat& format, std::int64_t* sum) {
  HWY_DYNAMIC_DISPATCH(add_block)(words, format, sum);
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
