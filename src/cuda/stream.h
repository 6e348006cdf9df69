// A queue of work on a device, as CUDA names it.
#pragma once

namespace troika::cuda {

struct Stream {
  void* handle = nullptr;  // cudaStream_t; null is the default stream
};

}  // namespace troika::cuda
