// What control groups grant of the processor.
#pragma once

#include <optional>

#include "doctor/host_view.h"

namespace troika::doctor {

// The least quota of all groups that hold this process, of both versions, in cores; nothing without one.
std::optional<double> quota_cores(const HostView& view);

}  // namespace troika::doctor
