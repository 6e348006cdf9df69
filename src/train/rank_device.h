// The device that a rank computes on.
#pragma once

#include <string>

#include "plan/device_check.h"
#include "plan/gpu_bits.h"
#include "tensor/tensor.h"

namespace troika::train {

// What libtorch and this machine offer; starts CUDA's driver.
plan::CudaHere cuda_of_this_process();

// `device` is auto, cpu, cuda or cuda:N. ConfigError as plan::check_device says.
tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks);

// How many of a host's ranks share the fullest device.
int ranks_of_device(const std::string& device, int ranks_on_host);

// Of this process.
plan::ProductsChosen products_chosen(const tensor::Device& device);

}  // namespace troika::train
