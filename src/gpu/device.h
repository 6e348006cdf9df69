// Which device a rank computes on.
#pragma once

#include <string>

#include "tensor/accelerator.h"
#include "tensor/memory.h"

namespace troika::gpu {

struct NvidiaHere {
  tensor::Accelerator* accelerator = nullptr;  // null: none can be used
  std::string missing;                         // why, in a sentence that begins small; "": there is one
  bool has_driver = false;
  int devices() const { return accelerator == nullptr ? 0 : accelerator->devices(); }
};
// The GPUs of this process: looked for at the first call, and kept until it ends, as tensors on them may outlive all else.
const NvidiaHere& nvidia_here();

// "auto" (cuda where it can be used, else cpu), "cpu", "cuda" or "cuda:N". On "cuda" and "auto" the device's number is local_rank modulo
// their count. ConfigError for another word, and where cuda is asked for and cannot be used.
tensor::Device pick_device(const std::string& word, int local_rank);

}  // namespace troika::gpu
