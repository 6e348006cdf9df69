#include "tensor/device.h"

#include <fmt/format.h>
#include <omp.h>

#include <set>

#include "base/error.h"
#include "base/text.h"
#include "tensor/tensor.h"

namespace troika::tensor {

CudaBuild cuda_build() {
#if !defined(TROIKA_WITH_CUDA)
  return CudaBuild::cpu_libtorch;
#elif !defined(TROIKA_CUDA_KERNELS)
  return CudaBuild::without_kernels;
#else
  return CudaBuild::with_kernels;
#endif
}

int cuda_devices() {
#ifdef TROIKA_WITH_CUDA
  return at::hasCUDA() ? static_cast<int>(c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount()) : 0;
#else
  return 0;
#endif
}

Device pick_device(const std::string& word, int local_rank) {
  std::int64_t index = -1;  // of cuda:N
  const bool numbered = word.rfind("cuda:", 0) == 0 && base::parse_int(word.substr(5), &index) && index >= 0;
  if (word != "auto" && word != "cpu" && word != "cuda" && !numbered) {
    throw base::ConfigError(fmt::format("train.device is '{}', but it must be auto, cpu, cuda or cuda:N", word));
  }
  const int devices = word == "cpu" ? 0 : cuda_devices();
  if ((word == "cuda" || numbered) && devices <= index + (numbered ? 0 : 1)) {
    throw base::ConfigError(fmt::format(
        "train.device is '{}', but this build and machine have {} CUDA devices; use --device cpu", word, devices));
  }
  if (numbered) return Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  if (devices == 0) return Device();
  return Device(c10::kCUDA, static_cast<c10::DeviceIndex>(local_rank % devices));
}

// OpenBLAS has threads of its own and does not listen to libtorch; absent where libtorch uses another BLAS.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

// OpenBLAS works in the thread that calls it: its own would fight OpenMP's for the cores.
static void set_blas_threads(int threads) {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
}

// Not at::set_num_threads: it also starts libtorch's second pool, which nothing here uses, again in every thread that calls
// libtorch, and the pool's threads keep a core busy for a while.
void set_threads(int threads) {
  at::get_num_threads();  // the first call in a thread sets OpenMP's count to libtorch's default
  omp_set_num_threads(threads);
  set_blas_threads(1);
}

std::vector<int> cores_of_openmp() {
  std::set<int> cores;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> numbers(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, numbers.data());
    cores.insert(numbers.begin(), numbers.end());
  }
  return {cores.begin(), cores.end()};
}

// Only what is copied out of pinned memory is copied without a wait; libtorch keeps the memory until then.
Tensor to_device(const Tensor& host, const Device& device) {
  if (device.is_cpu()) return host;
  return host.pin_memory().to(device, host.dtype(), /*non_blocking=*/true);
}

void synchronize(const Device& device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.getStream(device).synchronize();
}

std::string libtorch_version() { return TORCH_VERSION; }

Tensor empty_float(const Sizes& sizes, const Device& device) {
  return empty(sizes, TensorType(Dtype::fp32, device));
}

Tensor zeros_float(const Sizes& sizes, const Device& device) {
  return zeros(sizes, TensorType(Dtype::fp32, device));
}

}  // namespace troika::tensor
