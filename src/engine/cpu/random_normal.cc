#include "cpu/flat.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/random_normal.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

std::int64_t normal_blocks(std::array<std::uint32_t, 2>, std::uint64_t, std::int64_t, float, float*) {
  return 0;  // base::Philox does it
}

#else

namespace hn = hwy::HWY_NAMESPACE;
namespace numbers = base::box_muller_numbers;

using Doubles = hn::ScalableTag<double>;
using Integers = hn::ScalableTag<std::uint64_t>;
using Double = hn::Vec<Doubles>;
using Integer = hn::Vec<Integers>;

struct Words {
  Integer a, b;  // the two that box_muller takes
};

// The counters' blocks; a 64-bit lane holds one word of the block, with zeros or rubbish above it.
HWY_INLINE Words philox(Integer counter, std::array<std::uint32_t, 2> key) {
  const Integers d;
  const hn::Repartition<std::uint32_t, Integers> d32;
  const auto product = [&](Integer x, std::uint32_t factor)
                           HWY_ATTR { return hn::MulEven(hn::BitCast(d32, x), hn::Set(d32, factor)); };
  Integer x0 = counter, x1 = hn::ShiftRight<32>(counter), x2 = hn::Zero(d), x3 = hn::Zero(d);
  for (int round = 0; round < 10; ++round) {
    const Integer p0 = product(x0, 0xD2511F53), p1 = product(x2, 0xCD9E8D57);
    x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), x1), hn::Set(d, key[0]));
    x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), x3), hn::Set(d, key[1]));
    x1 = p1;
    x3 = p0;
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  const Integer low = hn::Set(d, 0xffffffff);
  return {hn::Or(hn::ShiftLeft<32>(x1), hn::And(x0, low)), hn::Or(hn::ShiftLeft<32>(x3), hn::And(x2, low))};
}

// From here on the operations of base::box_muller (base/random.cc), one by one.

template <std::size_t size>
HWY_INLINE Double polynomial(const double (&coefficients)[size], Double x) {
  const Doubles d;
  Double sum = hn::Set(d, coefficients[size - 1]);
  for (std::size_t i = size - 1; i > 0; --i) sum = hn::Add(hn::Mul(sum, x), hn::Set(d, coefficients[i - 1]));
  return sum;
}

// k <= 2^53, exactly.
HWY_INLINE Double to_double(Integer k) {
  const Doubles d;
  const Integers di;
  const Integer high = hn::Or(hn::ShiftRight<32>(k), hn::Set(di, 0x4530000000000000));  // the bits of 2^84 + 2^32 high
  const Integer low = hn::Or(hn::And(k, hn::Set(di, 0xffffffff)), hn::Set(di, numbers::two_to_52_bits));
  return hn::Add(hn::Sub(hn::BitCast(d, high), hn::Set(d, 0x1p84)),
                 hn::Sub(hn::BitCast(d, low), hn::Set(d, numbers::two_to_52)));
}

HWY_INLINE Double minus_two_log(Double k) {
  const Doubles d;
  const Integers di;
  const Double one = hn::Set(d, 1.0);
  const Integer bits = hn::BitCast(di, k), one_bits = hn::BitCast(di, one);
  const Integer from_root = hn::Add(bits, hn::Set(di, 0x3ff0000000000000 - numbers::root_of_half_bits));
  const Integer exponent = hn::ShiftRight<52>(from_root);
  const Double m = hn::BitCast(d, hn::Add(hn::Sub(bits, hn::ShiftLeft<52>(exponent)), one_bits));
  const Double e = hn::Sub(hn::BitCast(d, hn::Or(exponent, hn::Set(di, numbers::two_to_52_bits))),
                           hn::Set(d, numbers::two_to_52 + 1023 + 53));
  const Double s = hn::Div(hn::Sub(m, one), hn::Add(m, one)), z = hn::Mul(s, s);
  const Double of_m = hn::Add(hn::Set(d, -4.0), hn::Mul(z, polynomial(numbers::log_poly, z)));
  return hn::Add(hn::Mul(e, hn::Set(d, numbers::minus_two_log_2)), hn::Mul(s, of_m));
}

// The state of a batch of pairs between loops that are short enough for a core to run several iterations at a time.
constexpr std::int64_t batch = 128;
struct Batch {
  alignas(64) double radius[batch];
  alignas(64) std::uint64_t b[batch];
};

// Pairs of standard normal numbers times scale, to out.
HWY_INLINE void store_pairs(Double radius, Integer b, float scale, float* out) {
  const Doubles d;
  const Integers di;
  const hn::Rebind<float, Doubles> d32;
  const Integer one = hn::Set(di, 1), two = hn::Set(di, 2);
  const Double quarters = hn::Mul(to_double(hn::ShiftRight<11>(b)), hn::Set(d, 0x1p-51));
  const Double shifted = hn::Add(quarters, hn::Set(d, numbers::nearest_integer));
  const Integer quarter = hn::BitCast(di, shifted);
  const Double r = hn::Sub(quarters, hn::Sub(shifted, hn::Set(d, numbers::nearest_integer))), w = hn::Mul(r, r);
  const Double sine = hn::Mul(r, polynomial(numbers::sine_poly, w));
  const Double cosine = hn::Add(hn::Set(d, 1.0), hn::Mul(w, polynomial(numbers::cosine_poly, w)));
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(di), hn::And(quarter, one))));
  const Double x_sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(hn::Add(quarter, one), two)));
  const Double y_sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quarter, two)));
  const Double x = hn::Mul(radius, hn::Xor(hn::IfThenElse(odd, sine, cosine), x_sign));
  const Double y = hn::Mul(radius, hn::Xor(hn::IfThenElse(odd, cosine, sine), y_sign));
  const auto scales = hn::Set(d32, scale);
  hn::StoreInterleaved2(hn::Mul(hn::DemoteTo(d32, x), scales), hn::Mul(hn::DemoteTo(d32, y), scales), d32, out);
}

// Blocks first, first + 1, ... in whole vectors; returns how many were written.
std::int64_t normal_blocks(std::array<std::uint32_t, 2> key, std::uint64_t first, std::int64_t blocks, float scale,
                           float* out) {
  const Integers di;
  const Doubles d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(di));
  const std::int64_t whole = blocks / lanes * lanes;
  const Integer step = hn::Set(di, static_cast<std::uint64_t>(lanes));
  Integer counter = hn::Iota(di, first);
  Batch kept;
  for (std::int64_t begin = 0; begin < whole; begin += batch) {
    const std::int64_t count = std::min(batch, whole - begin);
    for (std::int64_t i = 0; i < count; i += lanes, counter = hn::Add(counter, step)) {
      const Words words = philox(counter, key);
      hn::Store(to_double(hn::Add(hn::ShiftRight<11>(words.a), hn::Set(di, 1))), d, kept.radius + i);
      hn::Store(words.b, di, kept.b + i);
    }
    for (std::int64_t i = 0; i < count; i += lanes) {
      hn::Store(hn::Sqrt(minus_two_log(hn::Load(d, kept.radius + i))), d, kept.radius + i);
    }
    for (std::int64_t i = 0; i < count; i += lanes) {
      store_pairs(hn::Load(d, kept.radius + i), hn::Load(di, kept.b + i), scale, out + 2 * (begin + i));
    }
  }
  return whole;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {

HWY_EXPORT(normal_blocks);

void one_by_one(const base::Philox& random, std::uint64_t first, std::int64_t count, float scale, float* out) {
  random.fill_normal(first, count, out);
  std::for_each(out, out + count, [scale](float& value) { value *= scale; });
}

}  // namespace

void random_normal(const base::Philox& random, std::uint64_t first, std::int64_t count, float scale, float* out) {
  const std::int64_t head = std::min<std::int64_t>(static_cast<std::int64_t>(first % 2), count);
  one_by_one(random, first, head, scale, out);
  const std::uint64_t block = (first + 1) / 2;
  const std::int64_t done =
      head + 2 * HWY_DYNAMIC_DISPATCH(normal_blocks)(random.key(), block, (count - head) / 2, scale, out + head);
  one_by_one(random, first + static_cast<std::uint64_t>(done), count - done, scale, out + done);
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
