#include "kernels/flat.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "cpu/flat.h"
#include "cpu/parallel.h"
#include "kernels/adamw_numbers.h"
#include "kernels/cpu_operands.h"
#include "kernels/on_cuda/on_cuda.h"
#include "kernels/reference/reference.h"

namespace troika::kernels {
namespace {

constexpr std::int64_t piece_elements = 1 << 16;

// Each piece is rounded while it is in a core's cache.
void adamw_rounded(const cpu::AdamWNumbers& n, const at::Tensor& parameter, const float* gradient, float* m, float* v,
                   const at::Tensor& rounded) {
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

namespace {

std::uint32_t bits_sum_on_cpu(const at::Tensor& tensor) {
  if (tensor.element_size() == 2)
    return cpu::bits_sum(tensor.numel(), static_cast<const std::uint16_t*>(tensor.data_ptr()));
  return cpu::bits_sum(tensor.numel(), static_cast<const std::uint32_t*>(tensor.data_ptr()));
}

}  // namespace

at::Tensor bits_sum(const at::Tensor& tensor) {
  return tensor.is_cpu() ? at::full({1}, std::int64_t{bits_sum_on_cpu(tensor)}, at::kLong)
                         : reference::bits_sum(tensor);
}

namespace {

using SumsOfStep = std::array<std::atomic<std::uint32_t>, 8>;  // in the order of adamw_summed's result

void add_to(const cpu::StepSums& piece, SumsOfStep* sums) {
  (*sums)[0] += piece.read.parameter;
  (*sums)[1] += piece.read.m;
  (*sums)[2] += piece.read.v;
  (*sums)[4] += piece.written.parameter;
  (*sums)[5] += piece.written.m;
  (*sums)[6] += piece.written.v;
}

// Each piece is rounded and summed while it is in a core's cache.
at::Tensor adamw_summed_on_cpu(const cpu::AdamWNumbers& n, const at::Tensor& parameter, const float* g, float* m,
                               float* v, const at::Tensor& rounded) {
  float* p = parameter.data_ptr<float>();
  SumsOfStep sums{};
  cpu::parallel_pieces(parameter.numel(), piece_elements, [&](std::int64_t begin, std::int64_t end) {
    add_to(cpu::adamw_summed(n, end - begin, p + begin, g + begin, m + begin, v + begin), &sums);
    if (!rounded.defined()) return;
    const at::Tensor piece = rounded.narrow(0, begin, end - begin);
    sums[3] += bits_sum_on_cpu(piece);
    round_into(parameter.narrow(0, begin, end - begin), piece);
    sums[7] += bits_sum_on_cpu(piece);
  });
  const at::Tensor result = at::empty({8}, at::kLong);
  std::copy(sums.begin(), sums.end(), result.data_ptr<std::int64_t>());
  return result;
}

}  // namespace

at::Tensor adamw_summed(const AdamW& settings, const at::Tensor& parameter, const at::Tensor& gradient,
                        const at::Tensor& m, const at::Tensor& v, const at::Tensor& rounded) {
  if (parameter.is_cpu())
    return adamw_summed_on_cpu(adamw_numbers<cpu::AdamWNumbers>(settings), parameter, gradient.data_ptr<float>(),
                               m.data_ptr<float>(), v.data_ptr<float>(), rounded);
  const auto sums = [&] {
    const at::Tensor of_p = bits_sum(parameter);
    return at::cat({of_p, bits_sum(m), bits_sum(v), rounded.defined() ? bits_sum(rounded) : at::zeros_like(of_p)});
  };
  const at::Tensor found = sums();
  adamw(settings, parameter, gradient, m, v, rounded);
  return at::cat({found, sums()});
}

void round_into(const at::Tensor& master, const at::Tensor& rounded) {
  if constexpr (has_cuda_kernels) {
    if (master.is_cuda()) return on_cuda::round_into(master, rounded);
  }
  reference::round_into(master, rounded);
}

}  // namespace troika::kernels
