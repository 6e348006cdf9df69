// The roofline of a training step as Markdown.
#pragma once

#include <string>

#include "commands/roofline/pytorch_kernels.h"
#include "config/resolve.h"
#include "plan/device_rates.h"

namespace troika::commands {

// Of one device. `resolved` is of one rank; the model's vocabulary is set and precision.compute is a half.
std::string roofline_table(const config::Resolved& resolved, const plan::DeviceRates& rates);

// The kernels that PyTorch's columns count, a line for each operation of the model that has more than one call.
std::string pytorch_kernels_list(const config::Resolved& resolved);

}  // namespace troika::commands
