// The device that a rank computes on.
#pragma once

#include <string>

#include "plan/device.h"
#include "tensor/tensor.h"

namespace troika::train {

// What this build and this machine offer the rank that takes this device.
plan::CudaHere cuda_of_this_process(const std::string& device, int local_rank);

// `device` is auto, cpu, cuda or cuda:N. ConfigError as plan::check_device says.
tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks);

// The GPUs that a rank with this train.device may compute on; "cpu": none, and nobody looks for them.
int usable_gpus(const std::string& device);

// Why a rank that takes a GPU where there is one computes on the CPU of a machine that has an NVIDIA driver; "": it does not.
base::Text why_on_processor(const std::string& device);

// How many of a host's ranks share the fullest device.
int ranks_of_device(const std::string& device, int ranks_on_host);

}  // namespace troika::train
