// `troika bench roofline`: what the operations of a step cannot take less than on a device.
#pragma once

#include <string>

#include "commands/verbs.h"

namespace troika::commands {

// The text to print, Markdown. ConfigError for wrong words, an unknown device, or a model that computes in fp32.
std::string roofline_report(const Call& call);

}  // namespace troika::commands
