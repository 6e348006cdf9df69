// Whether the ranks of a host can compute where train.device says, with one sentence for each reason if not. A launcher
// asks before it starts a rank, by the drivers and devices it finds; a rank asks again, by what its build can use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "config/settings/settings.h"
#include "host/nvidia.h"
#include "machine/accelerators.h"
#include "shape/operation_costs.h"

namespace troika::plan {

struct CudaHere {
  enum class Build { unknown, without_cuda, with_cuda } build = Build::unknown;
  host::NvidiaDriver driver = host::NvidiaDriver::absent;
  std::optional<int> devices;  // nothing: not known, as below
  std::optional<int> driver_version = std::nullopt;  // 535 of 535.104.05
  std::optional<int> cuda = std::nullopt;            // that the build was made for: 12 of 12.8
  std::optional<machine::Capability> capability = std::nullopt;  // of the device that the rank takes
  base::Text missing{};  // why none of the devices can be used, where that is known
};

struct RanksOfHost {
  int count = 1;
  config::Backend backend = config::Backend::automatic;
};

// `device` is train.device: auto, cpu, cuda or cuda:N. ConfigError: a build that cannot, no driver or one that is too old, no
// device, no such device or one that is too old, more ranks than devices. Two ranks may share a device over gloo alone, and
// where comm.backend says so. With auto, ranks compute on the CPU where there is no device or the build has no CUDA.
void check_device(const std::string& device, const RanksOfHost& ranks, const CudaHere& here);

// The FLOPs and bytes per second of a device, and the lower bound of an operation's time on it.
struct DeviceRates {
  std::string name;
  double flops_per_second = 0;  // of dense matrix products in bf16 with fp32 sums
  double bytes_per_second = 0;  // of reading and writing the device's memory
  base::Text source;            // what kind of number they are
};

// The named devices, in the order in which they are listed; accelerators in any spelling (machine/accelerators.h). ConfigError for
// another name, with the nearest.
const std::vector<DeviceRates>& all_device_rates();
DeviceRates find_device_rates(const std::string& name);
std::vector<std::string> device_rate_names();

enum class Bound { memory, products };
struct BoundTime {
  double seconds = 0;
  Bound by = Bound::memory;
};
// The longer of multiplying and moving: S. Williams et al., "Roofline", 2009.
BoundTime bound_time(const shape::Work& work, const DeviceRates& rates);

// Empty, or the first operation that a GPU need not repeat to the last bit (docs/reproducibility.md, "On GPUs"), in a sentence with why and a remedy. The gradients of weights must begin on 16 bytes,
// wherever a layout writes them: cuBLAS chooses kernels of products by shape and by alignment.
base::Text unequal_operation(const config::Settings& settings);

}  // namespace troika::plan
