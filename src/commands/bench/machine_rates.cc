#include "commands/bench/machine_rates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "commands/bench/timing.h"
#include "cpu/sgemm.h"
#include "tensor/tensor.h"

namespace troika::commands {
namespace {

constexpr std::int64_t gemm_M = 2048, gemm_K = 1024, gemm_N = 3072;
constexpr std::int64_t triad_elements = std::int64_t{16} << 20;

// Waits for a device that works beside the program.
void settle(const tensor::Tensor& result) {
  if (!result.is_cpu()) result.flatten()[0].item();
}

template <class Element>
cpu::MatrixOf<Element> rows_of(const tensor::Tensor& x) {
  return {static_cast<const Element*>(x.data()), x.stride(0), 1};
}

// The matrix library's own product.
template <class Element>
void library_product(const tensor::Tensor& x, const tensor::Tensor& w, const tensor::Tensor& y) {
  const int status =
      cpu::sgemm(gemm_M, gemm_N, gemm_K, rows_of<Element>(x), rows_of<Element>(w), 0.0f, y.data<float>(), gemm_N);
  if (status != 0) throw base::BugError(fmt::format("the matrix library refused the product: status {}", status));
}

// With all threads; on a GPU that of the training.
double gemm_rate(const tensor::Device& device, tensor::Dtype operands, double seconds) {
  const auto options = tensor::TensorType(device).dtype(operands);
  const tensor::Tensor x = tensor::full({gemm_M, gemm_K}, 0.5f, options), w = tensor::full({gemm_K, gemm_N}, 0.25f, options);
  const tensor::Tensor y = tensor::empty({gemm_M, gemm_N}, device.is_cpu() ? options.of(tensor::Dtype::fp32) : options);
  const auto product = [&] {
    if (device.is_cpu()) return (operands == tensor::Dtype::fp32 ? library_product<float> : library_product<cpu::Bf16>)(x, w, y);
    tensor::Tensor out = y;
    at::mm_out(out, x, w);
    settle(out);
  };
  return 2.0 * gemm_M * gemm_K * gemm_N / median_seconds(product, seconds);
}

double triad_rate(const tensor::Device& device, double seconds) {
  const tensor::Tensor b = tensor::full({triad_elements}, 1.0f, device), c = tensor::full({triad_elements}, 2.0f, device);
  tensor::Tensor a = tensor::empty({triad_elements}, device);
  const double each = median_seconds(
      [&] {
        at::add_out(a, b, c, 3);
        settle(a);
      },
      seconds);
  return 12.0 * triad_elements / each;
}

}  // namespace

MachineRates measure_rates(const tensor::Device& device, tensor::Dtype operands, double seconds) {
  const bool as_they_are = !device.is_cpu() || (operands == tensor::Dtype::bf16 && cpu::multiplies_halves());
  return {gemm_rate(device, as_they_are ? operands : tensor::Dtype::fp32, seconds), triad_rate(device, seconds)};
}

MachineRates better(const MachineRates& a, const MachineRates& b) {
  return {std::max(a.gemm_flops_per_second, b.gemm_flops_per_second),
          std::max(a.triad_bytes_per_second, b.triad_bytes_per_second)};
}

}  // namespace troika::commands
