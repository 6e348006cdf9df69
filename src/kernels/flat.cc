#include "kernels/flat.h"

#include <ATen/ATen.h>

#include "cpu/flat.h"
#include "cpu/parallel.h"
#include "kernels/adamw_numbers.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {
namespace {

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
  if (sum.is_cpu()) return cpu::add_into(sum.numel(), sum.data_ptr<float>(), other.data_ptr<float>());
  if constexpr (has_cuda_kernels) {
    if (sum.is_cuda()) return on_cuda::add_into(sum, other);
  }
  reference::add_into(sum, other);
}

at::Tensor chunk_squares(const at::Tensor& x, std::int64_t chunk) {
  if (x.is_cpu()) {
    const at::Tensor squares = at::empty({(x.numel() + chunk - 1) / chunk}, at::kDouble);
    cpu::chunk_squares(x.numel(), x.data_ptr<float>(), chunk, squares.data_ptr<double>());
    return squares;
  }
  if constexpr (has_cuda_kernels) {
    if (x.is_cuda()) return on_cuda::chunk_squares(x, chunk);
  }
  return reference::chunk_squares(x, chunk);
}

void adamw(const AdamW& settings, const at::Tensor& parameter, const at::Tensor& gradient, const at::Tensor& m,
           const at::Tensor& v, const at::Tensor& rounded) {
  if (parameter.is_cpu()) {
    const cpu::AdamWNumbers n = adamw_numbers<cpu::AdamWNumbers>(settings);
    const float* g = gradient.data_ptr<float>();
    float *m_data = m.data_ptr<float>(), *v_data = v.data_ptr<float>();
    if (rounded.defined()) return adamw_rounded(n, parameter, g, m_data, v_data, rounded);
    return cpu::adamw(n, parameter.numel(), parameter.data_ptr<float>(), g, m_data, v_data);
  }
  if constexpr (has_cuda_kernels) {
    if (parameter.is_cuda()) return on_cuda::adamw(settings, parameter, gradient, m, v, rounded);
  }
  reference::adamw(settings, parameter, gradient, m, v, rounded);
}

void round_into(const at::Tensor& master, const at::Tensor& rounded) {
  if constexpr (has_cuda_kernels) {
    if (master.is_cuda()) return on_cuda::round_into(master, rounded);
  }
  reference::round_into(master, rounded);
}

}  // namespace troika::kernels
