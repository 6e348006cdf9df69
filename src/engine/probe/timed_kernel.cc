#include "probe/timed_kernel.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "cpu/gemm.h"
#include "cpu/flat.h"
#include "model/decoder.h"
#include "tensor/device.h"
#include "tensor/operations.h"

namespace troika::probe {
namespace {

// So many that what is passed over is larger than the last cache of most machines, and no larger than parameters of a rank.
std::int64_t stream_elements() {
  const std::int64_t cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<std::int64_t>(cache / 4, std::int64_t{4} << 20, std::int64_t{8} << 20);
}

double now_by(Clock clock) {
  if (clock == Clock::wall) return base::monotonic_seconds();
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<config::Precision> precisions_of(const tensor::Device& device) {
  if (!device.is_cpu()) return {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16};
  if (cpu::multiplies_halves()) return {config::Precision::fp32, config::Precision::bf16};
  return {config::Precision::fp32};
}

}  // namespace

std::vector<TimedKernel> kernels_of(const tensor::Device& device) {
  std::vector<TimedKernel> all;
  const auto add = [&all](const std::vector<TimedKernel>& kernels) {
    all.insert(all.end(), kernels.begin(), kernels.end());
  };
  for (const config::Precision precision : precisions_of(device)) {
    add(product_kernels(precision));
    if (precision == config::Precision::fp16) continue;
    add(block_kernels(precision));
    add(stream_kernels(precision, stream_elements()));
  }
  add(call_kernels());
  return all;
}

double seconds_of_call(const KernelBody& run, const tensor::Device& device, Clock clock, double seconds) {
  constexpr double batch_seconds = 0.0005;
  const double until = base::monotonic_seconds() + seconds;
  const auto seconds_of = [&](int batch) {
    const double begin = now_by(clock);
    for (int i = 0; i < batch; ++i) run();
    tensor::synchronize(device);
    return (now_by(clock) - begin) / batch;
  };
  const double once = seconds_of(1);
  const int batch = static_cast<int>(std::clamp(batch_seconds / std::max(once, 1e-7), 1.0, 1e4));
  double best = batch == 1 ? once : seconds_of(batch);
  while (base::monotonic_seconds() < until) best = std::min(best, seconds_of(batch));
  return best;
}

constexpr std::int64_t different_numbers = 4099;  // a prime: no row begins as the one above

static tensor::Tensor normal_numbers() {
  const tensor::Tensor numbers = tensor::empty({different_numbers});
  cpu::random_normal(base::Philox(1, "probe"), 0, numbers.elements(), 1, numbers.data<float>());
  return numbers;
}

Operands::Operands(const tensor::Device& device, config::Precision precision)
    : numbers_(normal_numbers().to(device)), dtype_(model::dtype_of(precision)) {}

tensor::Tensor Operands::random_float(const tensor::Sizes& sizes) const {
  const std::int64_t count = sizes.product();
  return tensor::repeat(numbers_, count / different_numbers + 1).narrow(0, 0, count).view(sizes);
}

tensor::Tensor Operands::random(const tensor::Sizes& sizes) const {
  const std::int64_t count = sizes.product();
  return tensor::repeat(numbers_.to(dtype_), count / different_numbers + 1).narrow(0, 0, count).view(sizes);
}

tensor::Tensor Operands::empty_float(const tensor::Sizes& sizes) const {
  return tensor::empty_float(sizes, numbers_.device());
}

}  // namespace troika::probe
