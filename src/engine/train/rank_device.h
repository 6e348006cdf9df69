// The device that a rank computes on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "plan/device.h"
#include "tensor/tensor.h"

namespace troika::train {

// The CUDA that this build and this machine offer the rank that takes this device.
plan::CudaHere cuda_of_this_process(const std::string& device, int local_rank);

// `device` is auto, cpu, cuda or cuda:N. ConfigError as plan::check_device says.
tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks);

// The GPUs that a rank with this train.device may compute on; "cpu": none, and nobody looks for them.
int usable_gpus(const std::string& device);

// Why a rank that takes a GPU where there is one computes on the CPU of a machine that has an NVIDIA driver; "": it does not.
base::Text why_on_processor(const std::string& device);

// How many of a host's ranks share the fullest device.
int ranks_of_device(const std::string& device, int ranks_on_host);

// The backend that carries tensors between the devices of a run.
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
