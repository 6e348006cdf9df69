// GPUs over the stand-ins of the driver and of cuBLASLt.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/nvidia.h"

namespace troika::gpu {

// As many as the ranks of a test may be: each has a compute lane of its own. TROIKA_STAND_IN_DEVICES may say otherwise before the
// process's first call.
inline constexpr int stand_in_devices = 16;
std::unique_ptr<Nvidia> stand_in_gpus(std::int64_t flash_bytes = shape::most_flash_bytes);

// How often the stand-in for cuDNN was asked to compute.
std::int64_t stand_in_attentions();

// The answer of the stand-in driver from now on to all that is queued or asked for: a CUresult.
void fail_stand_in(int result);

// How often the host has waited for one of the stand-in driver's devices so far.
std::int64_t waits_of_stand_in();

}  // namespace troika::gpu
