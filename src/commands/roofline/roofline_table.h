// The roofline of a training step as Markdown.
#pragma once

#include <string>

#include "base/language.h"
#include "config/resolve.h"
#include "plan/device.h"

namespace troika::commands {

// Of one device. `resolved` is of one rank; the model's vocabulary is set and precision.compute is a half.
std::string roofline_table(const config::Resolved& resolved, const plan::DeviceRates& rates, base::Language language);

}  // namespace troika::commands
