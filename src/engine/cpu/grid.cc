#include "cpu/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/square_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Half as many floats as a vector holds, because they become doubles: there a float times a power of two is exact.
struct Wide {
  hn::ScalableTag<double> doubles;
  hn::RebindToSigned<decltype(doubles)> integers;
  hn::Rebind<float, decltype(doubles)> floats;
  hn::RebindToUnsigned<decltype(floats)> bits;
};
struct Single {
  hn::CappedTag<double, 1> doubles;
  hn::RebindToSigned<decltype(doubles)> integers;
  hn::Rebind<float, decltype(doubles)> floats;
  hn::RebindToUnsigned<decltype(floats)> bits;
};

// x to nearest, ties to even, of magnitudes up to 2^62. x86 processors without AVX-512 convert 32 bits at a time: x is split into
// two integers that a sum with 1.5 * 2^52 rounds to and leaves in its low bits.
template <class Tags, class X>
HWY_INLINE auto nearest_integers(const Tags& d, X x) {
#if !HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX3
  return hn::ConvertTo(d.integers, hn::Round(x));
#else
  const auto magic = hn::Set(d.doubles, 0x1.8p52);
  const auto high = hn::Add(hn::Mul(x, hn::Set(d.doubles, 0x1p-32)), magic);
  const auto rest = hn::Sub(x, hn::Mul(hn::Sub(high, magic), hn::Set(d.doubles, 0x1p32)));
  const auto low = hn::Sub(hn::BitCast(d.integers, hn::Add(rest, magic)), hn::BitCast(d.integers, magic));
  return hn::Add(hn::ShiftLeft<32>(hn::BitCast(d.integers, high)), low);
#endif
}

// The operation on an element that was scaled to x, in double.
struct RoundInPlace {
  float* to;
  double back;
  template <class Tags, class X>
  HWY_INLINE void operator()(const Tags& d, X x, std::int64_t i) const {
    hn::StoreU(hn::DemoteTo(d.floats, hn::Mul(hn::Round(x), hn::Set(d.doubles, back))), d.floats, to + i);
  }
};
struct SetIntegers {
  std::int64_t* sum;
  template <class Tags, class X>
  HWY_INLINE void operator()(const Tags& d, X x, std::int64_t i) const {
    hn::StoreU(nearest_integers(d, x), d.integers, sum + i);
  }
};
struct AddIntegers {
  std::int64_t* sum;
  template <class Tags, class X>
  HWY_INLINE void operator()(const Tags& d, X x, std::int64_t i) const {
    hn::StoreU(hn::Add(hn::LoadU(d.integers, sum + i), nearest_integers(d, x)), d.integers, sum + i);
  }
};

// The elements [i, end) in steps of the tags' lanes, as many whole steps as there are; returns where it stopped.
template <class Tags, class Give>
HWY_INLINE std::int64_t convert_steps(Tags d, std::int64_t i, std::int64_t end, const float* x, double scale,
                                      const Give& give, std::uint32_t* largest) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d.doubles));
  const auto magnitude = hn::Set(d.bits, 0x7fffffffU);
  auto most = hn::Zero(d.bits);
  for (; i + lanes <= end; i += lanes) {
    const auto g = hn::LoadU(d.floats, x + i);
    most = hn::Max(most, hn::And(hn::BitCast(d.bits, g), magnitude));
    give(d, hn::Mul(hn::PromoteTo(d.doubles, g), hn::Set(d.doubles, scale)), i);
  }
  alignas(64) std::uint32_t of_lanes[16];
  hn::Store(most, d.bits, of_lanes);
  for (std::int64_t lane = 0; lane < lanes; ++lane) *largest = std::max(*largest, of_lanes[lane]);
  return i;
}

template <class Give>
HWY_INLINE std::uint32_t convert(std::int64_t begin, std::int64_t end, const float* x, double scale, const Give& give) {
  std::uint32_t largest = 0;
  const std::int64_t whole = convert_steps(Wide(), begin, end, x, scale, give, &largest);
  convert_steps(Single(), whole, end, x, scale, give, &largest);
  return largest;
}

std::uint32_t round_piece(std::int64_t begin, std::int64_t end, float* x, int shift) {
  return convert(begin, end, x, std::ldexp(1.0, shift), RoundInPlace{x, std::ldexp(1.0, -shift)});
}

std::uint32_t set_piece(std::int64_t begin, std::int64_t end, std::int64_t* sum, const float* x, int shift) {
  return convert(begin, end, x, std::ldexp(1.0, shift), SetIntegers{sum});
}

// The largest magnitude's bits.
std::uint32_t magnitude(std::int64_t begin, std::int64_t end, const float* x) {
  std::uint32_t largest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    largest = std::max(largest, bits & 0x7fffffffU);
  }
  return largest;
}

// Whether all are 0, or -0.
HWY_INLINE bool are_zeros(std::int64_t count, const float* x) {
  std::uint32_t any = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof bits);
    any |= bits;
  }
  return (any & 0x7fffffffU) == 0;
}

// One microbatch touches few rows of a vocabulary's table: where nothing is added, the sum is not read and written.
std::uint32_t add_piece(std::int64_t begin, std::int64_t end, std::int64_t* sum, const float* x, int shift) {
  constexpr std::int64_t block = 256;
  std::uint32_t largest = 0;
  for (std::int64_t i = begin; i < end; i += block) {
    const std::int64_t block_end = std::min(i + block, end);
    if (are_zeros(block_end - i, x + i)) continue;
    largest = std::max(largest, convert(i, block_end, x, std::ldexp(1.0, shift), AddIntegers{sum}));
  }
  return largest;
}

// Each row's x is added from where the sum of the row's first element would lie.
std::uint32_t add_rows_piece(std::int64_t begin, std::int64_t end, const RowsOfPart& rows, std::int64_t* sum,
                             const float* x, int shift) {
  std::uint32_t largest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t at = rows.row[i] * rows.D - rows.first;
    const std::int64_t from = std::clamp<std::int64_t>(-at, 0, rows.D);
    const std::int64_t to = std::clamp<std::int64_t>(rows.count - at, from, rows.D);
    const float* const of_row = x + i * rows.D;
    largest = std::max({largest, magnitude(0, from, of_row), magnitude(to, rows.D, of_row)});
    if (from == to) continue;
    const AddIntegers add{sum + (at + from)};
    largest = std::max(largest, convert(0, to - from, of_row + from, std::ldexp(1.0, shift), add));
  }
  return largest;
}

template <class Tags>
HWY_INLINE std::int64_t back_steps(Tags d, std::int64_t i, std::int64_t count, const std::int64_t* sum, double back,
                                   float* x) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d.doubles));
  for (; i + lanes <= count; i += lanes) {
    const auto q = hn::ConvertTo(d.doubles, hn::LoadU(d.integers, sum + i));
    hn::StoreU(hn::DemoteTo(d.floats, hn::Mul(q, hn::Set(d.doubles, back))), d.floats, x + i);
  }
  return i;
}

void back_piece(std::int64_t count, const std::int64_t* sum, int shift, float* x) {
  const double back = std::ldexp(1.0, -shift);
  const std::int64_t whole = back_steps(Wide(), 0, count, sum, back, x);
  back_steps(Single(), whole, count, sum, back, x);
}

void squares_piece(std::int64_t count, const std::int64_t* sum, int shift, std::int64_t chunk, double* squares) {
  alignas(64) float x[largest_chunk];
  for (std::int64_t i = 0; i < count; i += chunk) {
    const std::int64_t here = std::min(chunk, count - i);
    back_piece(here, sum + i, shift, x);
    squares[i / chunk] = square_sum(here, x);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {

HWY_EXPORT(round_piece);
HWY_EXPORT(set_piece);
HWY_EXPORT(add_piece);
HWY_EXPORT(add_rows_piece);
HWY_EXPORT(back_piece);
HWY_EXPORT(squares_piece);

constexpr std::int64_t piece_elements = 1 << 15;

// The largest of what the pieces give.
template <class OfPiece>
std::uint32_t largest_of_pieces(std::int64_t count, std::int64_t piece, const OfPiece& of_piece) {
  std::atomic<std::uint32_t> largest{0};
  parallel_pieces(count, piece, [&](std::int64_t begin, std::int64_t end) {
    const std::uint32_t here = of_piece(begin, end);
    std::uint32_t known = largest.load();
    while (known < here && !largest.compare_exchange_weak(known, here)) {
    }
  });
  return largest.load();
}

}  // namespace

std::uint32_t round_to_grid(std::int64_t count, float* x, int shift) {
  const auto piece = HWY_DYNAMIC_DISPATCH(round_piece);
  return largest_of_pieces(count, piece_elements,
                           [=](std::int64_t begin, std::int64_t end) { return piece(begin, end, x, shift); });
}

std::uint32_t set_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift) {
  const auto piece = HWY_DYNAMIC_DISPATCH(set_piece);
  return largest_of_pieces(count, piece_elements,
                           [=](std::int64_t begin, std::int64_t end) { return piece(begin, end, sum, x, shift); });
}

std::uint32_t add_integers(std::int64_t count, std::int64_t* sum, const float* x, int shift) {
  const auto piece = HWY_DYNAMIC_DISPATCH(add_piece);
  return largest_of_pieces(count, piece_elements,
                           [=](std::int64_t begin, std::int64_t end) { return piece(begin, end, sum, x, shift); });
}

std::uint32_t add_rows(const RowsOfPart& rows, std::int64_t* sum, const float* x, int shift) {
  const auto piece = HWY_DYNAMIC_DISPATCH(add_rows_piece);
  return largest_of_pieces(
      rows.rows, std::max<std::int64_t>(1, piece_elements / rows.D),
      [=](std::int64_t begin, std::int64_t end) { return piece(begin, end, rows, sum, x, shift); });
}

void from_integers(std::int64_t count, const std::int64_t* sum, int shift, float* x) {
  const auto piece = HWY_DYNAMIC_DISPATCH(back_piece);
  parallel_pieces(count, piece_elements,
                  [=](std::int64_t begin, std::int64_t end) { piece(end - begin, sum + begin, shift, x + begin); });
}

void integer_chunk_squares(std::int64_t count, const std::int64_t* sum, int shift, std::int64_t chunk,
                           double* squares) {
  if (chunk > largest_chunk)
    throw base::BugError(fmt::format("squares of chunks of {} elements, of at most {}", chunk, largest_chunk));
  const std::int64_t piece = piece_elements / chunk * chunk;
  const auto of_piece = HWY_DYNAMIC_DISPATCH(squares_piece);
  parallel_pieces(count, piece, [=](std::int64_t begin, std::int64_t end) {
    of_piece(end - begin, sum + begin, shift, chunk, squares + begin / chunk);
  });
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
