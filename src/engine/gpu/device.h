// The device that a rank computes on.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "machine/accelerators.h"
#include "tensor/accelerator.h"
#include "tensor/memory.h"

namespace troika::gpu {

struct NvidiaHere {
  tensor::Accelerator* accelerator = nullptr;  // null: none can be used
  base::Text missing;                          // why, in a sentence that begins small; "": there is one
  bool has_driver = false;
  std::vector<machine::Capability> capabilities;  // of each device
  int devices() const { return accelerator == nullptr ? 0 : accelerator->devices(); }
};
// The GPUs of this process: looked for at the first call, and kept until it ends, as tensors on them may outlive all else. Where
// all of them are too old for the kernels, none can be used.
const NvidiaHere& nvidia_here();

// The number of the rank's device of so many on "cuda" and "auto": local_rank modulo their count; of "cuda:N" N.
int device_number(const std::string& word, int local_rank, int devices);

// "auto" (cuda where it can be used, else cpu), "cpu", "cuda" or "cuda:N". ConfigError for another word, and where cuda is asked for
// and cannot be used.
tensor::Device pick_device(const std::string& word, int local_rank);

}  // namespace troika::gpu
