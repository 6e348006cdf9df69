// Operations over flat fp32 arrays; contracts in kernels/flat.h: an element's result depends on its own inputs alone, with one
// rounding per arithmetic operation.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "cpu/arrays.h"

namespace troika::cpu {

void add_into(std::int64_t count, float* sum, const float* other);

// sum = the parts, added in their order in fp32 and rounded once; all are arrays of `dtype`, fp32, bf16 or fp16. It may be one of
// them.
void sum_of_parts(std::int64_t count, const std::vector<const void*>& parts, Dtype dtype, void* sum);

// sum += factor x, in double, then rounded once. On the calling thread.
void add_scaled(std::int64_t count, float* sum, const float* x, double factor);

// Squares of consecutive chunks of `chunk` elements (the last may be shorter) into squares[], each summed in double.
void chunk_squares(std::int64_t count, const float* x, std::int64_t chunk, double* squares);

struct AdamWNumbers {
  float lr = 0, beta1 = 0, beta2 = 0, one_minus_beta1 = 0, one_minus_beta2 = 0, eps = 0;
  float decay = 1;                           // the parameter is multiplied by it
  float m_correction = 1, v_correction = 1;  // 1 / (1 - beta^step)
  float gradient_scale = 1;
};
// On the calling thread alone, as adamw_summed.
void adamw(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient, float* m, float* v);

// Sums of the bits of fp32 values, modulo 2^32: whatever the order, one flipped bit changes them.
struct StateSums {
  std::uint32_t parameter = 0, m = 0, v = 0;
};
struct StepSums {
  StateSums read, written;
};
// The same step, and the sums of what it read and wrote.
StepSums adamw_summed(const AdamWNumbers& a, std::int64_t count, float* parameter, const float* gradient, float* m,
                      float* v);

// The sum of `count` numbers of 32 or 16 bits, modulo 2^32.
std::uint32_t bits_sum(std::int64_t count, const std::uint32_t* data);
std::uint32_t bits_sum(std::int64_t count, const std::uint16_t* data);

// Arrays of floats rounded to halves: to nearest, ties to even; NaN becomes a quiet NaN, 0x7fc0 in bf16, 0x7e00 with its sign in fp16.
// On the calling thread.
void round_to_halves(std::int64_t count, const float* x, Bf16* y);
void round_to_halves(std::int64_t count, const float* x, base::Fp16* y);

// out[i] = standard normal number first + i of the stream, times scale: the numbers of base::Philox::fill_normal, several at a time, with
// the same bits on every machine. Runs on the calling thread.
void random_normal(const base::Philox& random, std::uint64_t first, std::int64_t count, float scale, float* out);

}  // namespace troika::cpu
