#include "train/rank_device.h"

#include <algorithm>

#include "gpu/library.h"
#include "gpu/device.h"
#include "tensor/tensor.h"

namespace troika::train {

plan::CudaHere cuda_of_this_process(const std::string& device, int local_rank) {
  using Build = plan::CudaHere::Build;
  const gpu::NvidiaHere& here = gpu::nvidia_here();
  plan::CudaHere found;
  found.build = gpu::has_device_code() ? Build::with_cuda : Build::without_cuda;
  found.driver = here.has_driver ? host::NvidiaDriver::loaded : host::nvidia_driver();
  found.devices = here.devices();
  found.driver_version = host::nvidia_driver_version();
  found.cuda = gpu::cuda_of_code;
  found.missing = here.missing;
  const int number = here.devices() > 0 ? gpu::device_number(device, local_rank, here.devices()) : -1;
  if (number >= 0 && number < here.devices()) found.capability = here.capabilities[static_cast<std::size_t>(number)];
  return found;
}

tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks) {
  if (config::word_or(device, config::DeviceKind::numbered) != config::DeviceKind::cpu)
    plan::check_device(device, ranks, cuda_of_this_process(device, local_rank));
  return gpu::pick_device(device, local_rank);
}

int usable_gpus(const std::string& device) {
  return config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::cpu ? 0 : gpu::nvidia_here().devices();
}

base::Text why_on_processor(const std::string& device) {
  const bool looks = config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::automatic;
  return looks && host::nvidia_driver() == host::NvidiaDriver::loaded ? gpu::nvidia_here().missing
                                                                           : base::Text{};
}

int ranks_of_device(const std::string& device, int ranks_on_host) {
  const int devices = std::max(1, gpu::nvidia_here().devices());
  if (config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::numbered) return ranks_on_host;
  return (ranks_on_host + devices - 1) / devices;
}

}  // namespace troika::train
