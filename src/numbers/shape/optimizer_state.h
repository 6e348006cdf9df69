// What AdamW keeps for each parameter that it updates, and where.
#pragma once

#include <cstdint>
#include <string>

namespace troika::shape {

// device: on the parameters' device. host: in host memory, copied to the device and back around each step (on a CPU
// that is the same place). file: in a nameless file under `folder`; pages come and go with the step.
struct StatePlace {
  enum class Kind { device, host, file } kind = Kind::device;
  std::string folder;  // of file
};

// fp32 tensors as long as the parameters: first and second moment, and beside half precision the master copy.
inline constexpr int state_tensors(std::int64_t bytes_per_parameter) { return bytes_per_parameter == 4 ? 2 : 3; }
inline constexpr std::int64_t state_bytes(std::int64_t bytes_per_parameter) {
  return 4 * state_tensors(bytes_per_parameter);
}

}  // namespace troika::shape
