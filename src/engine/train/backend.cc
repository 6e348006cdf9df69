#include "train/backend.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/nccl_api.h"
#include "gpu/library.h"
#include "tensor/tensor.h"

namespace troika::train {
using config::Backend;

std::string nccl_library() { return gpu::path_or_name(comm::nccl::usual_library); }

// Empty when NCCL can carry this rank's tensors.
static base::Text reason_against_nccl(const tensor::Device& device, const std::string& library) {
  if (!device.is_cuda())
    return base::say("comm.backend nccl carries tensors between NVIDIA GPUs, but this rank computes on {}; use --comm.backend gloo, or --device cuda",
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
          base::say("messages between GPUs go over TCP, through host memory, which is slower than NCCL: {}", reason)};
}

std::vector<std::string> device_variables(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> found;
  for (const auto& [name, value] : environment) {
    if (name.rfind("NCCL_", 0) == 0 || name.rfind("CUDA_", 0) == 0) found.push_back(name + "=" + value);
  }
  return found;
}

std::string describe_backend(Backend backend, const std::vector<std::string>& variables) {
  std::string text = "messages between devices: ";
  text += backend == Backend::nccl
              ? "NCCL " + comm::nccl::version_text(comm::nccl::load(nccl_library())->version)
              : std::string("TCP, through host memory");
  return variables.empty() ? text : text + ", with " + base::join(variables, ", ");
}

}  // namespace troika::train
