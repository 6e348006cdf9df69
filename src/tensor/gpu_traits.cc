#include "tensor/gpu_traits.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::tensor {

std::string describe(const GpuTraits& gpu) {
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, CUDA {}.{}, cuBLAS {}", gpu.name, gpu.major,
                     gpu.minor, gpu.multiprocessors, gpu.cuda / 1000, gpu.cuda % 1000 / 10,
                     gpu.cublas.empty() ? "unknown" : gpu.cublas);
}

std::string describe(const Device& device) { return name_of(device); }

std::int64_t free_bytes(const Device& device) {
  throw base::BugError("free memory of " + name_of(device) + " in a build without CUDA");
}

}  // namespace troika::tensor
