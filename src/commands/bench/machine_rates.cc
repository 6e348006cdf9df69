#include "commands/bench/machine_rates.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "commands/bench/timing.h"
#include "cpu/sgemm.h"
#include "kernels/cpu_operands.h"

namespace troika::commands {
namespace {

constexpr std::int64_t gemm_M = 2048, gemm_K = 1024, gemm_N = 3072;
constexpr std::int64_t triad_elements = std::int64_t{16} << 20;

// Waits for a device that works beside the program.
void settle(const at::Tensor& result) {
  if (!result.is_cpu()) result.flatten()[0].item();
}

// The matrix library's own product with all threads; on a GPU that of the training.
double gemm_rate(const c10::Device& device, double seconds) {
  const at::Tensor x = at::full({gemm_M, gemm_K}, 0.5f, device), w = at::full({gemm_K, gemm_N}, 0.25f, device);
  const at::Tensor y = at::empty({gemm_M, gemm_N}, device);
  const auto product = [&] {
    if (device.is_cpu()) {
      const int status = cpu::sgemm(gemm_M, gemm_N, gemm_K, {x.data_ptr<float>(), gemm_K, 1},
                                    {w.data_ptr<float>(), gemm_N, 1}, 0.0f, y.data_ptr<float>(), gemm_N);
      if (status != 0) throw base::BugError(fmt::format("the matrix library refused the product: status {}", status));
      return;
    }
    at::Tensor out = y;
    at::mm_out(out, x, w);
    settle(out);
  };
  return 2.0 * gemm_M * gemm_K * gemm_N / median_seconds(product, seconds);
}

double triad_rate(const c10::Device& device, double seconds) {
  const at::Tensor b = at::full({triad_elements}, 1.0f, device), c = at::full({triad_elements}, 2.0f, device);
  at::Tensor a = at::empty({triad_elements}, device);
  const double each = median_seconds(
      [&] {
        at::add_out(a, b, c, 3);
        settle(a);
      },
      seconds);
  return 12.0 * triad_elements / each;
}

}  // namespace

MachineRates measure_rates(const c10::Device& device, double seconds) {
  return {gemm_rate(device, seconds), triad_rate(device, seconds)};
}

MachineRates better(const MachineRates& a, const MachineRates& b) {
  return {std::max(a.gemm_flops_per_second, b.gemm_flops_per_second),
          std::max(a.triad_bytes_per_second, b.triad_bytes_per_second)};
}

}  // namespace troika::commands
