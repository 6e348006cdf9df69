// Every kernel of module cuda by its entry, to run on the host (cuda/host_grid_test_support.h).
#pragma once

#include <string>

#include "tensor/accelerator.h"

namespace troika::gpu {

// BugError for an entry that no kernel has.
void run_kernel_on_host(const tensor::KernelCall& call, std::uint64_t seed);

// The bytes that the kernel reads as its argument.
std::size_t argument_bytes(const std::string& entry);

}  // namespace troika::gpu
