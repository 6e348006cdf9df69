// Device code for the kernels of module cuda, as this build has it: for kinds of GPUs by their compute capability, and as text that
// a driver compiles for others.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace troika::gpu {

inline constexpr int cuda_of_code = 12;  // whose drivers take it, and all later ones

struct DeviceCode {
  int capability = 0;                  // 86: for 8.6, and where the major number is the same for later minor ones
  bool is_text = false;                // PTX: for that capability and all later ones
  std::function<std::string()> image;  // as cuModuleLoadData takes it
};

// Empty: this build has none.
std::vector<DeviceCode> device_code();
bool has_device_code();

// The best for a GPU: code of its capability before code of the same major number before text. Null: none fits.
const DeviceCode* code_for(const std::vector<DeviceCode>& all, int capability);

}  // namespace troika::gpu
