#include "train/rank_device.h"

#include "tensor/device.h"

namespace troika::train {

static plan::CudaHere::Build build_of(tensor::CudaBuild build) {
  switch (build) {
    case tensor::CudaBuild::cpu_libtorch:
      return plan::CudaHere::Build::cpu_libtorch;
    case tensor::CudaBuild::without_kernels:
      return plan::CudaHere::Build::without_kernels;
    case tensor::CudaBuild::with_kernels:
      return plan::CudaHere::Build::with_kernels;
  }
  return plan::CudaHere::Build::unknown;
}

plan::CudaHere cuda_of_this_process() {
  return {build_of(tensor::cuda_build()), host::nvidia_driver(), tensor::cuda_devices()};
}

c10::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks) {
  if (config::word_or(device, config::DeviceKind::numbered) != config::DeviceKind::cpu)
    plan::check_device(device, ranks, cuda_of_this_process());
  return tensor::pick_device(device, local_rank);
}

}  // namespace troika::train
