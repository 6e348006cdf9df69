// The lanes of a GPU, as one rank's thread uses them.
#pragma once

#include <memory>

#include "tensor/streams.h"

namespace troika::gpu {

class NvidiaDevice;

// The compute lane is the device's own, also of other ranks' streams. `device` outlives them. The calling thread gets its context.
std::unique_ptr<tensor::Streams> make_nvidia_streams(NvidiaDevice& device);

}  // namespace troika::gpu
