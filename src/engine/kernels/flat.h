// Operations over flat fp32 buffers: sums, squares for the norm, AdamW. Each element's result depends on
// its own inputs alone, with one rounding per arithmetic operation, so it is the same wherever the element lies in a
// buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/exact_math.h"
#include "tensor/tensor.h"

namespace troika::kernels {

void add_into(const tensor::Tensor& sum, const tensor::Tensor& other);  // sum += other

// sum = the parts, added in their order in fp32 and rounded once. All are contiguous, of one size and of one dtype, fp32, bf16 or
// fp16; the sum may be one of them.
void sum_of_parts(const std::vector<tensor::Tensor>& parts, const tensor::Tensor& sum);

// Sums of squares of consecutive chunks of `chunk` elements, fp64, each in a fixed order: of stretches of x that follow each other,
// so many elements each; the last chunk of a stretch may be shorter.
tensor::Tensor chunk_squares(const tensor::Tensor& x, const std::vector<std::int64_t>& stretches, std::int64_t chunk);

// I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019.
struct AdamW {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0;
  std::int64_t step = 1;      // counts from 1; for the bias correction
  double gradient_scale = 1;  // the gradient is multiplied by it first (token count, clipping)
};
// Consecutive elements with one weight decay.
struct DecayStretch {
  std::int64_t count = 0;
  double weight_decay = 0;
};
// One-dimensional fp32 tensors of one length; parameter, m and v are updated in place. `rounded`, where it is defined,
// has that length too and receives the new parameter in its own dtype, the one that forward and backward compute in.
struct AdamWTensors {
  tensor::Tensor parameter, gradient, m, v, rounded;
};
// `stretches` cover the tensors in order.
void adamw(const AdamW& settings, const std::vector<DecayStretch>& stretches, const AdamWTensors& tensors);
// The same step; returns the sums of the bits that it found and left (bits_sum) in every stretch, on the tensors' device:
// int64, stretches x 2 (found, left) x 4 (parameter, m, v, rounded); of `rounded` 0 where there is none.
tensor::Tensor adamw_summed(const AdamW& settings, const std::vector<DecayStretch>& stretches, const AdamWTensors& tensors);
// The sum of the bits of a contiguous tensor's elements, of 32 or 16 each, modulo 2^32: whatever the order, one flipped bit
// changes it, and sums of parts add up to that of the whole. int64 of one element, on its device.
tensor::Tensor bits_sum(const tensor::Tensor& tensor);
// The same rounding without a step: rounded = master in rounded's dtype, to nearest, ties to even.
void round_into(const tensor::Tensor& master, const tensor::Tensor& rounded);

// The factors of an AdamW step in the precision in which the reference multiplies: each is rounded to float once. cpu::AdamWNumbers or cuda::AdamWNumbers.
template <class Numbers>
Numbers adamw_numbers(const AdamW& a) {
  const auto steps = static_cast<double>(a.step);
  Numbers n;
  n.lr = static_cast<float>(a.lr);
  n.beta1 = static_cast<float>(a.beta1);
  n.beta2 = static_cast<float>(a.beta2);
  n.one_minus_beta1 = static_cast<float>(1 - a.beta1);
  n.one_minus_beta2 = static_cast<float>(1 - a.beta2);
  n.eps = static_cast<float>(a.eps);
  n.m_correction = static_cast<float>(1 / (1 - base::pow(a.beta1, steps)));
  n.v_correction = static_cast<float>(1 / (1 - base::pow(a.beta2, steps)));
  n.gradient_scale = static_cast<float>(a.gradient_scale);
  return n;
}

// The factor that parameters are multiplied by.
inline float decay_factor(const AdamW& a, double weight_decay) { return static_cast<float>(1 - a.lr * weight_decay); }

}  // namespace troika::kernels
