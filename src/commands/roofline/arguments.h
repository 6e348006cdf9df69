// The command line of `troika bench roofline`: the settings of train, and these.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "plan/device.h"

namespace troika::commands {

struct RooflineArguments {
  std::string device = "h200";              // a name of plan::device_rate_names
  std::optional<double> tflops, terabytes;  // instead of the device's
  config::ParsedSettings parsed;
};

config::FlagTable roofline_flags(RooflineArguments& a);

// precision.compute is bf16 unless it is stated.
RooflineArguments parse_roofline(const std::vector<std::string>& words, const config::Environment& environment);

// The named device's, with what the flags say in their place. ConfigError for an unknown name.
plan::DeviceRates rates_of(const RooflineArguments& a);

}  // namespace troika::commands
