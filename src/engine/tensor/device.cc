#include "tensor/device.h"

#include <set>

#include "base/say.h"
#include "cpu/parallel.h"
#include "tensor/accelerator.h"

namespace troika::tensor {

void set_threads(int threads) { cpu::set_threads(threads); }

int threads() { return cpu::threads(); }

std::vector<int> cores_of_openmp() {
  std::set<int> cores;
#ifdef TROIKA_WITH_OPENMP
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> numbers(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, numbers.data());
    cores.insert(numbers.begin(), numbers.end());
  }
#endif
  return {cores.begin(), cores.end()};
}

Tensor to_device(const Tensor& host, const Device& device) { return host.to(device); }

void synchronize(const Device& device) {
  if (!device.is_cpu()) device.accelerator().synchronize(device);
}

Tensor empty_float(const Sizes& sizes, const Device& device) { return empty(sizes, {Dtype::fp32, device}); }
Tensor zeros_float(const Sizes& sizes, const Device& device) { return zeros(sizes, {Dtype::fp32, device}); }

base::Text describe(const GpuTraits& gpu) {
  return base::say("{}, compute capability {}.{}, {} multiprocessors, driver for CUDA {}.{}, cuBLAS {}, {}", gpu.name,
                   gpu.major, gpu.minor, gpu.multiprocessors, gpu.driver / 1000, gpu.driver % 1000 / 10,
                   gpu.cublas.empty() ? base::say("unknown") : base::verbatim(gpu.cublas),
                   gpu.cudnn.empty() ? base::say("no cuDNN") : base::say("cuDNN {}", gpu.cudnn));
}

base::Text describe(const Device& device) {
  return device.is_cpu() ? base::verbatim(name_of(device)) : describe(device.accelerator().traits(device));
}

std::int64_t free_bytes(const Device& device) { return device.accelerator().free_bytes(device); }

}  // namespace troika::tensor
