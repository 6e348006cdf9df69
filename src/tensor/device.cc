#include "tensor/device.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/text.h"
#include "cpu/openmp.h"
#include "cpu/parallel.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::tensor {

int cuda_devices() { return 0; }

Device pick_device(const std::string& word, int) {
  std::int64_t index = -1;  // of cuda:N
  const bool numbered = word.rfind("cuda:", 0) == 0 && base::parse_int(word.substr(5), &index) && index >= 0;
  if (word != "auto" && word != "cpu" && word != "cuda" && !numbered) {
    throw base::ConfigError(fmt::format("train.device is '{}', but it must be auto, cpu, cuda or cuda:N", word));
  }
  if (word == "cuda" || numbered)
    throw base::ConfigError(fmt::format("train.device is '{}', but this build has no CUDA back end; use --device cpu", word));
  return Device();
}

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

}  // namespace troika::tensor
