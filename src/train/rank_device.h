// The device that a rank computes on.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "plan/device_check.h"
#include "plan/gpu_bits.h"

namespace troika::train {

// What libtorch and this machine offer; starts CUDA's driver.
plan::CudaHere cuda_of_this_process();

// `device` is auto, cpu, cuda or cuda:N. ConfigError as plan::check_device says.
c10::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks);

// How many of a host's ranks share the fullest device.
int ranks_of_device(const std::string& device, int ranks_on_host);

// Of this process.
plan::ProductsChosen products_chosen(const c10::Device& device);

}  // namespace troika::train
