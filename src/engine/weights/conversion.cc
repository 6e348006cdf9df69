#include "weights/weights_read.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "cpu/flat.h"

namespace troika::weights {
namespace {

constexpr std::uint32_t infinity = 0x7f800000, magnitude_bits = 0x7fffffff;

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float from_bits(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t widened_bf16(std::uint16_t half) { return std::uint32_t{half} << 16; }

// The exponent's bias grows from 15 to 127. A subnormal is read as 2^-14 + itself.
std::uint32_t widened_fp16(std::uint16_t half) {
  constexpr std::uint32_t bias_step = 112U << 23;
  const std::uint32_t magnitude = std::uint32_t{half & 0x7fffU} << 13;
  const std::uint32_t subnormal = bits_of(from_bits(magnitude + bias_step + (1U << 23)) - 0x1p-14F);
  const std::uint32_t normal = magnitude + bias_step + (magnitude >= 31U << 23 ? bias_step : 0);
  return (magnitude < 1U << 23 ? subnormal : normal) | std::uint32_t{half & 0x8000U} << 16;
}

// A NaN keeps its upper bits; one of them must stay set.
std::uint16_t narrowed_bf16(std::uint32_t bits) {
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const std::uint32_t nan = bits >> 16 | ((bits & 0x7f0000) == 0 ? 0x40U : 0U);
  return static_cast<std::uint16_t>((bits & magnitude_bits) > infinity ? nan : rounded);
}

// Below 2^-14 the sum with 1/2, whose last bit is worth 2^-24, rounds to a whole number of fp16's smallest steps.
std::uint16_t narrowed_fp16(std::uint32_t bits) {
  constexpr std::uint32_t smallest_normal = 113U << 23, too_large = 143U << 23;
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & magnitude_bits;
  const std::uint32_t payload = magnitude >> 13 & 0x3ff;
  if (magnitude > infinity) return static_cast<std::uint16_t>(sign | 0x7c00 | (payload == 0 ? 0x200 : payload));
  if (magnitude >= too_large) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < smallest_normal)
    return static_cast<std::uint16_t>(sign | (bits_of(from_bits(magnitude) + 0.5F) - bits_of(0.5F)));
  return static_cast<std::uint16_t>(sign | (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

template <std::uint32_t (*Widen)(std::uint16_t)>
void widen_all(const std::byte* source, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, source + i * 2, sizeof half);
    to[i] = from_bits(Widen(half));
  }
}

template <std::uint16_t (*Narrow)(std::uint32_t)>
std::int64_t narrow_all(const float* source, std::int64_t count, std::uint16_t infinite, std::byte* target) {
  std::int64_t overflowed = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = bits_of(source[i]);
    const std::uint16_t half = Narrow(bits);
    overflowed += (half & 0x7fff) == infinite && (bits & magnitude_bits) < infinity ? 1 : 0;
    std::memcpy(target + i * 2, &half, sizeof half);
  }
  return overflowed;
}

[[noreturn]] void refuse(checkpoint::StoredDtype dtype) {
  throw base::BugError(dtype.name() + " is no dtype of weights");
}

}  // namespace

bool is_weight_dtype(checkpoint::StoredDtype dtype) {
  return dtype == base::Dtype::fp32 || dtype == base::Dtype::bf16 || dtype == base::Dtype::fp16;
}

void widen(checkpoint::StoredDtype from, const std::byte* source, std::int64_t count, float* to) {
  if (from == base::Dtype::bf16) return widen_all<widened_bf16>(source, count, to);
  if (from == base::Dtype::fp16) return widen_all<widened_fp16>(source, count, to);
  if (from != base::Dtype::fp32) refuse(from);
  if (count > 0) std::memcpy(to, source, static_cast<std::size_t>(count) * 4);
}

std::int64_t narrow(const float* source, std::int64_t count, checkpoint::StoredDtype to, std::byte* target) {
  if (to == base::Dtype::bf16) return narrow_all<narrowed_bf16>(source, count, 0x7f80, target);
  if (to == base::Dtype::fp16) return narrow_all<narrowed_fp16>(source, count, 0x7c00, target);
  if (to != base::Dtype::fp32) refuse(to);
  if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * 4);
  return 0;
}

void convert(checkpoint::StoredDtype from, const std::byte* source, std::int64_t count, checkpoint::StoredDtype to, std::byte* target) {
  if (from == to && is_weight_dtype(from)) {
    if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count * from.bytes()));
    return;
  }
  constexpr std::int64_t block = 2048;
  float floats[block];
  for (std::int64_t done = 0; done < count; done += block) {
    const std::int64_t now = std::min(block, count - done);
    std::byte* const at = target + done * to.bytes();
    widen(from, source + done * from.bytes(), now, floats);
    if (to == base::Dtype::bf16) {
      cpu::round_to_halves(now, floats, reinterpret_cast<base::Bf16*>(at));
    } else {
      narrow(floats, now, to, at);
    }
  }
}

}  // namespace troika::weights
