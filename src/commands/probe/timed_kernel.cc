#include "commands/probe/timed_kernel.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "commands/bench/timing.h"
#include "cpu/gemm.h"
#include "tensor/device.h"

namespace troika::commands {
namespace {

// So many that an array in fp32 is as large as the last cache.
std::int64_t stream_elements() {
  const std::int64_t cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<std::int64_t>(cache / 4, std::int64_t{4} << 20, std::int64_t{32} << 20);
}

std::vector<config::Precision> precisions_of(const c10::Device& device) {
  if (!device.is_cpu()) return {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16};
  if (cpu::multiplies_halves()) return {config::Precision::fp32, config::Precision::bf16};
  return {config::Precision::fp32};
}

}  // namespace

std::vector<TimedKernel> kernels_of(const c10::Device& device) {
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
  return all;
}

double seconds_of_call(const KernelBody& run, const c10::Device& device, double seconds) {
  constexpr double batch_seconds = 0.002;
  const double begin = base::monotonic_seconds(), until = begin + seconds;
  run();
  tensor::synchronize(device);
  double now = base::monotonic_seconds();
  const int batch = static_cast<int>(std::clamp(std::round(batch_seconds / std::max(now - begin, 1e-7)), 1.0, 1e4));
  std::vector<double> times;
  if (batch == 1) times.push_back(now - begin);
  while (times.empty() || now < until) {
    const double start = now;
    for (int i = 0; i < batch; ++i) run();
    tensor::synchronize(device);
    now = base::monotonic_seconds();
    times.push_back((now - start) / batch);
  }
  return median(times);
}

}  // namespace troika::commands
