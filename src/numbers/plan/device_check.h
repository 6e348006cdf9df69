// Whether the ranks of a host can compute where train.device says, with one sentence for each reason if not. A launcher
// asks before it starts a rank, by the drivers and devices it finds; a rank asks again, by what its build can use.
#pragma once

#include <optional>
#include <string>

#include "base/language.h"
#include "config/choices.h"
#include "host/nvidia.h"
#include "machine/capability.h"

namespace troika::plan {

struct CudaHere {
  enum class Build { unknown, without_cuda, with_cuda } build = Build::unknown;
  host::NvidiaDriver driver = host::NvidiaDriver::absent;
  std::optional<int> devices;  // nothing: not known, as below
  std::optional<int> driver_version = std::nullopt;  // 535 of 535.104.05
  std::optional<int> cuda = std::nullopt;            // that the build was made for: 12 of 12.8
  std::optional<machine::Capability> capability = std::nullopt;  // of the device that the rank takes
  base::Text missing{};  // why none of the devices can be used, where that is known
};

struct RanksOfHost {
  int count = 1;
  config::Backend backend = config::Backend::automatic;
};

// `device` is train.device: auto, cpu, cuda or cuda:N. ConfigError: a build that cannot, no driver or one that is too old, no
// device, no such device or one that is too old, more ranks than devices. Two ranks may share a device over gloo alone, and
// where comm.backend says so. With auto, ranks compute on the CPU where there is no device or the build has no CUDA.
void check_device(const std::string& device, const RanksOfHost& ranks, const CudaHere& here);

}  // namespace troika::plan
