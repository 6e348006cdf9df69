#include "kernels/flat.h"

#include <ATen/ATen.h>

#include <cmath>

#include "cpu/flat.h"
#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {
namespace {

// In the precision in which the reference multiplies: each factor is rounded to float once.
cpu::AdamWNumbers numbers_of(const AdamW& a) {
  const auto steps = static_cast<double>(a.step);
  cpu::AdamWNumbers n;
  n.lr = static_cast<float>(a.lr);
  n.beta1 = static_cast<float>(a.beta1);
  n.beta2 = static_cast<float>(a.beta2);
  n.one_minus_beta1 = static_cast<float>(1 - a.beta1);
  n.one_minus_beta2 = static_cast<float>(1 - a.beta2);
  n.eps = static_cast<float>(a.eps);
  n.decay = static_cast<float>(1 - a.lr * a.weight_decay);
  n.m_correction = static_cast<float>(1 / (1 - std::pow(a.beta1, steps)));
  n.v_correction = static_cast<float>(1 / (1 - std::pow(a.beta2, steps)));
  n.gradient_scale = static_cast<float>(a.gradient_scale);
  return n;
}

// Each piece is rounded while it is in a core's cache.
void adamw_rounded(const cpu::AdamWNumbers& n, const at::Tensor& parameter, const float* gradient, float* m, float* v,
                   const at::Tensor& rounded) {
  constexpr std::int64_t piece_elements = 1 << 16;
  float* p = parameter.data_ptr<float>();
  cpu::parallel_pieces(parameter.numel(), piece_elements, [&](std::int64_t begin, std::int64_t end) {
    cpu::adamw(n, end - begin, p + begin, gradient + begin, m + begin, v + begin);
    round_into(parameter.narrow(0, begin, end - begin), rounded.narrow(0, begin, end - begin));
  });
}

}  // namespace

void add_into(const at::Tensor& sum, const at::Tensor& other) {
  if constexpr (has_cpu_kernels) {
    if (sum.is_cpu()) return cpu::add_into(sum.numel(), sum.data_ptr<float>(), other.data_ptr<float>());
  }
  reference::add_into(sum, other);
}

at::Tensor chunk_squares(const at::Tensor& x, std::int64_t chunk) {
  if constexpr (has_cpu_kernels) {
    if (x.is_cpu()) {
      const at::Tensor squares = at::empty({(x.numel() + chunk - 1) / chunk}, at::kDouble);
      cpu::chunk_squares(x.numel(), x.data_ptr<float>(), chunk, squares.data_ptr<double>());
      return squares;
    }
  }
  return reference::chunk_squares(x, chunk);
}

void adamw(const AdamW& settings, const at::Tensor& parameter, const at::Tensor& gradient, const at::Tensor& m,
           const at::Tensor& v, const at::Tensor& rounded) {
  if constexpr (has_cpu_kernels) {
    if (parameter.is_cpu()) {
      const cpu::AdamWNumbers n = numbers_of(settings);
      const float* g = gradient.data_ptr<float>();
      float *m_data = m.data_ptr<float>(), *v_data = v.data_ptr<float>();
      if (rounded.defined()) return adamw_rounded(n, parameter, g, m_data, v_data, rounded);
      return cpu::adamw(n, parameter.numel(), parameter.data_ptr<float>(), g, m_data, v_data);
    }
  }
  reference::adamw(settings, parameter, gradient, m, v, rounded);
}

void round_into(const at::Tensor& master, const at::Tensor& rounded) { reference::round_into(master, rounded); }

}  // namespace troika::kernels
