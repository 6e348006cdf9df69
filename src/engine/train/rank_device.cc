#include "train/rank_device.h"

#include <algorithm>
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/nccl_api.h"
#include "gpu/library.h"
#include "gpu/device.h"

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

using config::Backend;

std::string nccl_library() { return gpu::path_or_name(comm::nccl::usual_library); }

// Empty when NCCL can carry this rank's tensors.
static base::Text reason_against_nccl(const tensor::Device& device, const std::string& library) {
  if (!device.is_cuda())
    return base::say(
        "comm.backend nccl carries tensors between NVIDIA GPUs, but this rank computes on {}; use --comm.backend gloo, "
        "or --device cuda",
        name_of(device));
  try {
    comm::nccl::load(library.empty() ? nccl_library() : library);
  } catch (const base::ConfigError& error) {
    return base::text_of(error);
  }
  return {};
}

BackendChoice choose_backend(Backend asked_for, const tensor::Device& device, int ranks, const std::string& library) {
  if (asked_for == Backend::gloo) return {};
  if (asked_for == Backend::automatic && (ranks == 1 || device.is_cpu())) return {};
  const base::Text reason = reason_against_nccl(device, library);
  if (reason.english.empty()) return {Backend::nccl, {}};
  if (asked_for == Backend::nccl) throw base::ConfigError(reason);
  return {Backend::gloo,
          base::say("messages between GPUs use TCP, through host memory, which is slower than NCCL: {}", reason)};
}

std::vector<std::string> device_variables(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> found;
  for (const auto& [name, value] : environment)
    if (name.rfind("NCCL_", 0) == 0 || name.rfind("CUDA_", 0) == 0) found.push_back(name + "=" + value);
  return found;
}

std::string describe_backend(Backend backend, const std::vector<std::string>& variables) {
  std::string text = "messages between devices: ";
  text += backend == Backend::nccl ? "NCCL " + comm::nccl::version_text(comm::nccl::load(nccl_library())->version)
                                   : std::string("TCP, through host memory");
  return variables.empty() ? text : text + ", with " + base::join(variables, ", ");
}

}  // namespace troika::train
