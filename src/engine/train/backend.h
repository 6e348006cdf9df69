// What carries tensors between the devices of a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "tensor/tensor.h"

namespace troika::train {

struct BackendChoice {
  config::Backend backend = config::Backend::gloo;  // or nccl
  base::Text
      note;  // that messages between GPUs take the slower way though nobody asked for it, and why; empty: they do not
};

// NCCL's path or its name for the dynamic linker: it is looked for where the other libraries of GPUs are (gpu/library.h).
std::string nccl_library();

// For a rank on `device` of a run of so many ranks, each of which has its device for itself unless gloo is asked for
// (plan/device.h). automatic: nccl between GPUs where `library` (nccl_library(), where it is empty) is
// here. ConfigError when nccl is asked for and cannot be.
BackendChoice choose_backend(config::Backend asked_for, const tensor::Device& device, int ranks,
                             const std::string& library = {});

// "NCCL_DEBUG=INFO", ...: the variables of an environment that NCCL and CUDA read by themselves.
std::vector<std::string> device_variables(const std::map<std::string, std::string>& environment);

// For a rank's log: "messages between devices: NCCL 2.28.9, with NCCL_DEBUG=INFO".
std::string describe_backend(config::Backend backend, const std::vector<std::string>& variables);

}  // namespace troika::train
