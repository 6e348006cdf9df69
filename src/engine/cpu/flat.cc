#include "cpu/flat.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/error.h"
#include "cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/flat.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/square_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The use adamw_steps makes of the bits it reads and writes: none, or adding them up.
struct NoSums {
  template <class D, class V>
  HWY_INLINE void add(D, V, V, V, V, V, V) const {}
};

template <class U>
struct BitSums {
  using Sum = hn::Vec<U>;
  Sum p, m, v, new_p, new_m, new_v;

  explicit BitSums(U u)
      : p(hn::Zero(u)), m(hn::Zero(u)), v(hn::Zero(u)), new_p(hn::Zero(u)), new_m(hn::Zero(u)), new_v(hn::Zero(u)) {}
  template <class D, class V>
  HWY_INLINE void add(D, V p_read, V m_read, V v_read, V p_written, V m_written, V v_written) {
    const U u;
    p = hn::Add(p, hn::BitCast(u, p_read));
    m = hn::Add(m, hn::BitCast(u, m_read));
    v = hn::Add(v, hn::BitCast(u, v_read));
    new_p = hn::Add(new_p, hn::BitCast(u, p_written));
    new_m = hn::Add(new_m, hn::BitCast(u, m_written));
    new_v = hn::Add(new_v, hn::BitCast(u, v_written));
  }
  void add_to(StepSums* sums) const {
    const U u;
    const auto total = [u](Sum sum) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(u, sum)); };
    sums->read.parameter += total(p);
    sums->read.m += total(m);
    sums->read.v += total(v);
    sums->written.parameter += total(new_p);
    sums->written.m += total(new_m);
    sums->written.v += total(new_v);
  }
};

// The elements [i, end) in steps of d's lanes, as many whole steps as there are; returns where it stopped. Products and
// sums stay apart (no MulAdd), so that an element has the same bits in a vector of any width.
template <class D, class Sums>
HWY_INLINE std::int64_t adamw_steps(D d, const AdamWNumbers& a, std::int64_t i, std::int64_t end, float* parameter,
                                    const float* gradient, float* m, float* v, Sums& sums) {
  const auto scaled = [d](auto x, float by) HWY_ATTR { return hn::Mul(x, hn::Set(d, by)); };
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= end; i += lanes) {
    const auto g = scaled(hn::LoadU(d, gradient + i), a.gradient_scale);
    const auto old_p = hn::LoadU(d, parameter + i), old_m = hn::LoadU(d, m + i), old_v = hn::LoadU(d, v + i);
    const auto new_m = hn::Add(scaled(old_m, a.beta1), scaled(g, a.one_minus_beta1));
    const auto new_v = hn::Add(scaled(old_v, a.beta2), scaled(hn::Mul(g, g), a.one_minus_beta2));
    const auto divisor = hn::Add(hn::Sqrt(scaled(new_v, a.v_correction)), hn::Set(d, a.eps));
    const auto update = scaled(hn::Div(scaled(new_m, a.m_correction), divisor), a.lr);
    hn::StoreU(new_m, d, m + i);
    hn::StoreU(new_v, d, v + i);
    const auto new_p = hn::Sub(scaled(old_p, a.decay), update);
    hn::StoreU(new_p, d, parameter + i);
    sums.add(d, old_p, old_m, old_v, new_p, new_m, new_v);
  }
  return i;
}

void adamw_piece(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient, float* m,
                 float* v) {
  NoSums none;
  const std::int64_t whole = adamw_steps(hn::ScalableTag<float>(), a, 0, count, parameter, gradient, m, v, none);
  adamw_steps(hn::CappedTag<float, 1>(), a, whole, count, parameter, gradient, m, v, none);
}

StepSums adamw_summed_piece(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient,
                            float* m, float* v) {
  BitSums<hn::ScalableTag<std::uint32_t>> of_vectors{hn::ScalableTag<std::uint32_t>()};
  BitSums<hn::CappedTag<std::uint32_t, 1>> of_rest{hn::CappedTag<std::uint32_t, 1>()};
  const std::int64_t whole = adamw_steps(hn::ScalableTag<float>(), a, 0, count, parameter, gradient, m, v, of_vectors);
  adamw_steps(hn::CappedTag<float, 1>(), a, whole, count, parameter, gradient, m, v, of_rest);
  StepSums sums;
  of_vectors.add_to(&sums);
  of_rest.add_to(&sums);
  return sums;
}

std::uint32_t bits_sum_of_32(std::int64_t count, const std::uint32_t* data) {
  const hn::ScalableTag<std::uint32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d), other = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sum = hn::Add(sum, hn::LoadU(d, data + i));
    other = hn::Add(other, hn::LoadU(d, data + i + lanes));
  }
  std::uint32_t total = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
  for (; i < count; ++i) total += data[i];
  return total;
}

std::uint32_t bits_sum_of_16(std::int64_t count, const std::uint16_t* data) {
  std::uint32_t total = 0;
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vector of two halves
  const hn::ScalableTag<std::uint16_t> d16;
  const hn::ScalableTag<std::uint32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d16));
  const auto low_half = hn::Set(d, 0xffff);
  auto low = hn::Zero(d), high = hn::Zero(d);
  for (; i + lanes <= count; i += lanes) {
    const auto pairs = hn::BitCast(d, hn::LoadU(d16, data + i));
    low = hn::Add(low, hn::And(pairs, low_half));
    high = hn::Add(high, hn::ShiftRight<16>(pairs));
  }
  total = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
#endif
  for (; i < count; ++i) total += data[i];
  return total;
}

// Products and sums of doubles, each rounded, on every target.
void add_scaled_piece(std::int64_t count, float* sum, const float* x, double factor) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> floats;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto product = hn::Mul(by, hn::PromoteTo(d, hn::LoadU(floats, x + i)));
    hn::StoreU(hn::DemoteTo(floats, hn::Add(hn::PromoteTo(d, hn::LoadU(floats, sum + i)), product)), floats, sum + i);
  }
  for (; i < count; ++i) sum[i] = static_cast<float>(static_cast<double>(sum[i]) + factor * static_cast<double>(x[i]));
}

void chunk_squares_piece(std::int64_t count, const float* x, std::int64_t chunk, double* squares) {
  for (std::int64_t i = 0; i < count; i += chunk) squares[i / chunk] = square_sum(std::min(chunk, count - i), x + i);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troika::cpu {
namespace {

HWY_EXPORT(adamw_piece);
HWY_EXPORT(adamw_summed_piece);
HWY_EXPORT(bits_sum_of_32);
HWY_EXPORT(bits_sum_of_16);
HWY_EXPORT(chunk_squares_piece);
HWY_EXPORT(add_scaled_piece);

constexpr std::int64_t piece_elements = 1 << 16;

}  // namespace

void add_into(std::int64_t count, float* sum, const float* other) {
  parallel_pieces(count, piece_elements, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum[i] += other[i];
  });
}

namespace {

void round_to(std::int64_t count, const float* x, float* y) { std::copy_n(x, count, y); }
template <class Half>
void round_to(std::int64_t count, const float* x, Half* y) {
  round_to_halves(count, x, y);
}

// A block at a time, which stays in a core's cache.
template <class T>
void sum_of_pieces(std::int64_t count, const std::vector<const void*>& parts, T* sum) {
  constexpr std::int64_t block = 2048;
  parallel_pieces(count, piece_elements, [&](std::int64_t begin, std::int64_t end) {
    float total[block];
    for (; begin < end; begin += block) {
      const std::int64_t width = std::min(block, end - begin);
      for (std::size_t r = 0; r < parts.size(); ++r) {
        const T* const x = static_cast<const T*>(parts[r]) + begin;
        if (r == 0) {
          for (std::int64_t i = 0; i < width; ++i) total[i] = to_float(x[i]);
        } else {
          for (std::int64_t i = 0; i < width; ++i) total[i] += to_float(x[i]);
        }
      }
      round_to(width, total, sum + begin);
    }
  });
}

}  // namespace

void sum_of_parts(std::int64_t count, const std::vector<const void*>& parts, Dtype dtype, void* sum) {
  switch (dtype) {
    case Dtype::fp32:
      return sum_of_pieces(count, parts, static_cast<float*>(sum));
    case Dtype::bf16:
      return sum_of_pieces(count, parts, static_cast<Bf16*>(sum));
    case Dtype::fp16:
      return sum_of_pieces(count, parts, static_cast<base::Fp16*>(sum));
    default:
      throw base::BugError(std::string("a sum of parts of ") + base::name_of(dtype));
  }
}

void add_scaled(std::int64_t count, float* sum, const float* x, double factor) {
  HWY_DYNAMIC_DISPATCH(add_scaled_piece)(count, sum, x, factor);
}

void chunk_squares(std::int64_t count, const float* x, std::int64_t chunk, double* squares) {
  const std::int64_t piece = std::max<std::int64_t>(1, piece_elements / chunk) * chunk;
  const auto of_piece = HWY_DYNAMIC_DISPATCH(chunk_squares_piece);
  parallel_pieces(count, piece, [=](std::int64_t begin, std::int64_t end) {
    of_piece(end - begin, x + begin, chunk, squares + begin / chunk);
  });
}

void adamw(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient, float* m, float* v) {
  HWY_DYNAMIC_DISPATCH(adamw_piece)(a, count, parameter, gradient, m, v);
}

StepSums adamw_summed(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient, float* m,
                      float* v) {
  return HWY_DYNAMIC_DISPATCH(adamw_summed_piece)(a, count, parameter, gradient, m, v);
}

namespace {

template <class Bits, class OfPiece>
std::uint32_t sum_by_pieces(std::int64_t count, const Bits* data, OfPiece of_piece) {
  std::atomic<std::uint32_t> total = 0;
  parallel_pieces(count, piece_elements, [&, of_piece](std::int64_t begin, std::int64_t end) {
    total += of_piece(end - begin, data + begin);
  });
  return total;
}

}  // namespace

std::uint32_t bits_sum(std::int64_t count, const std::uint32_t* data) {
  return sum_by_pieces(count, data, HWY_DYNAMIC_DISPATCH(bits_sum_of_32));
}

std::uint32_t bits_sum(std::int64_t count, const std::uint16_t* data) {
  return sum_by_pieces(count, data, HWY_DYNAMIC_DISPATCH(bits_sum_of_16));
}

}  // namespace troika::cpu
#endif  // HWY_ONCE
