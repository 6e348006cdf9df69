// What carries tensors between the devices of a run.
#pragma once

#include <c10/core/Device.h>

#include <map>
#include <string>
#include <vector>

#include "config/choices.h"

namespace troika::train {

struct RanksAndDevices {
  int ranks = 1, ranks_on_host = 1;
  int devices_on_host = 0;
};

// gloo or nccl, for a rank on `device`. automatic: nccl where the ranks of this host have a GPU each and the library is
// here. ConfigError when nccl is asked for and cannot be.
config::Backend backend_of(config::Backend asked_for, const c10::Device& device, const RanksAndDevices& counts);

// "NCCL_DEBUG=INFO", ...: the variables of an environment that NCCL and CUDA read by themselves.
std::vector<std::string> device_variables(const std::map<std::string, std::string>& environment);

// For a rank's log: "messages between devices: NCCL 2.28.9, with NCCL_DEBUG=INFO".
std::string describe_backend(config::Backend backend, const std::vector<std::string>& variables);

}  // namespace troika::train
