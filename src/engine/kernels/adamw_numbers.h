// The factors of an AdamW step in the precision in which the reference multiplies: each is rounded to float once.
#pragma once

#include "base/exact_math.h"
#include "kernels/flat.h"

namespace troika::kernels {

// cpu::AdamWNumbers or cuda::AdamWNumbers.
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

// What parameters are multiplied by.
inline float decay_factor(const AdamW& a, double weight_decay) { return static_cast<float>(1 - a.lr * weight_decay); }

}  // namespace troika::kernels
