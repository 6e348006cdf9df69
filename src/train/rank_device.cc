#include "train/rank_device.h"

#include <algorithm>

#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::train {

plan::CudaHere cuda_of_this_process() {
  return {plan::CudaHere::Build::without_cuda, host::nvidia_driver(), tensor::cuda_devices(),
          host::nvidia_driver_version()};
}

tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks) {
  if (config::word_or(device, config::DeviceKind::numbered) != config::DeviceKind::cpu)
    plan::check_device(device, ranks, cuda_of_this_process());
  return tensor::pick_device(device, local_rank);
}

int ranks_of_device(const std::string& device, int ranks_on_host) {
  const int devices = std::max(1, tensor::cuda_devices());
  if (config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::numbered) return ranks_on_host;
  return (ranks_on_host + devices - 1) / devices;
}

}  // namespace troika::train
