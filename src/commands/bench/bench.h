// The verb `bench`: kernels, step, comm, roofline.
#pragma once

#include <optional>
#include <string>

#include "commands/verbs.h"
#include "config/config.h"
#include "plan/device.h"

namespace troika::commands {

// Returns the exit code. ConfigError for wrong words.
int run_bench(const Call& call);

// The command line of `troika bench roofline`: the settings of train, and these.
struct RooflineArguments {
  std::string device = "h200";              // a name of plan::device_rate_names
  std::optional<double> tflops, terabytes;  // instead of the device's
  config::ParsedSettings parsed;
};

config::FlagTable roofline_flags(RooflineArguments& a);

// `troika bench roofline`: what the operations of a step cannot take less than on a device, as Markdown. ConfigError for wrong words,
// an unknown device, or a model that computes in fp32.
std::string roofline_report(const Call& call);

}  // namespace troika::commands
