#include "tensor/gpu_traits.h"

#include <fmt/format.h>

#ifdef TROIKA_CUDA_KERNELS
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#endif

#include "base/error.h"

namespace troika::tensor {

std::string describe(const GpuTraits& gpu) {
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, CUDA {}.{}, cuBLAS {}", gpu.name, gpu.major,
                     gpu.minor, gpu.multiprocessors, gpu.cuda / 1000, gpu.cuda % 1000 / 10,
                     gpu.cublas.empty() ? "unknown" : gpu.cublas);
}

#ifdef TROIKA_CUDA_KERNELS
namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) throw base::BugError(std::string("CUDA does not answer: ") + cudaGetErrorString(status));
}

// The library that libtorch loaded, by the C interface that it shares with all its versions.
std::string cublas_version() {
  using GetProperty = int (*)(int property, int* value);
  const auto get = reinterpret_cast<GetProperty>(::dlsym(RTLD_DEFAULT, "cublasGetProperty"));
  int numbers[3] = {};
  for (int property = 0; property < 3; ++property)
    if (get == nullptr || get(property, numbers + property) != 0) return "";
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

GpuTraits traits_of(int device) {
  cudaDeviceProp properties;
  GpuTraits gpu;
  check(cudaGetDeviceProperties(&properties, device));
  check(cudaRuntimeGetVersion(&gpu.cuda));
  gpu.name = properties.name;
  gpu.major = properties.major;
  gpu.minor = properties.minor;
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.cublas = cublas_version();
  return gpu;
}

}  // namespace
#endif

std::string describe(const Device& device) {
  if (device.is_cpu()) return "cpu";
#ifdef TROIKA_CUDA_KERNELS
  return describe(traits_of(device.index()));
#else
  return device.str();
#endif
}

std::int64_t free_bytes(const Device& device) {
#ifdef TROIKA_CUDA_KERNELS
  c10::cuda::CUDACachingAllocator::emptyCache();
  std::size_t free = 0, all = 0;
  int before = 0;
  check(cudaGetDevice(&before));
  check(cudaSetDevice(device.index()));
  check(cudaMemGetInfo(&free, &all));
  check(cudaSetDevice(before));
  return static_cast<std::int64_t>(free);
#else
  throw base::BugError("free memory of " + device.str() + " in a build without CUDA");
#endif
}

void add_halves_in_fp32(const Device& device) {
#ifdef TROIKA_CUDA_KERNELS
  if (device.is_cpu()) return;
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  at::globalContext().setAllowFP16ReductionCuBLAS(false);
#endif
}

ByTime chooses_products_by_time(const Device& device) {
#ifdef TROIKA_CUDA_KERNELS
  if (!device.is_cpu() && at::cuda::tunable::getTuningContext()->IsTunableOpEnabled()) return ByTime::yes;
#endif
  return ByTime::no;
}

}  // namespace troika::tensor
