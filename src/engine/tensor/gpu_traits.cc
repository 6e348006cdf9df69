#include "tensor/gpu_traits.h"

#include <fmt/format.h>

#include "tensor/accelerator.h"

namespace troika::tensor {

std::string describe(const GpuTraits& gpu) {
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, driver for CUDA {}.{}, cuBLAS {}, {}", gpu.name, gpu.major,
                     gpu.minor, gpu.multiprocessors, gpu.driver / 1000, gpu.driver % 1000 / 10,
                     gpu.cublas.empty() ? "unknown" : gpu.cublas,
                     gpu.cudnn.empty() ? "no cuDNN" : "cuDNN " + gpu.cudnn);
}

std::string describe(const Device& device) {
  return device.is_cpu() ? name_of(device) : describe(device.accelerator().traits(device));
}

std::int64_t free_bytes(const Device& device) { return device.accelerator().free_bytes(device); }

}  // namespace troika::tensor
