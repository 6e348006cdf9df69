#include "train/rank_device.h"

#include <algorithm>

#include "gpu/code.h"
#include "gpu/device.h"
#include "tensor/tensor.h"

namespace troika::train {

plan::CudaHere cuda_of_this_process() {
  using Build = plan::CudaHere::Build;
  const gpu::NvidiaHere& here = gpu::nvidia_here();
  return {gpu::has_device_code() ? Build::with_cuda : Build::without_cuda, host::nvidia_driver(), here.devices(), here.missing};
}

tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks) {
  if (config::word_or(device, config::DeviceKind::numbered) != config::DeviceKind::cpu)
    plan::check_device(device, ranks, cuda_of_this_process());
  return gpu::pick_device(device, local_rank);
}

std::string why_on_processor(const std::string& device) {
  const bool looks = config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::automatic;
  return looks && host::nvidia_driver() == host::NvidiaDriver::loaded ? gpu::nvidia_here().missing : "";
}

int ranks_of_device(const std::string& device, int ranks_on_host) {
  const int devices = std::max(1, gpu::nvidia_here().devices());
  if (config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::numbered) return ranks_on_host;
  return (ranks_on_host + devices - 1) / devices;
}

}  // namespace troika::train
