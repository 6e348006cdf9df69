// Narrow models of every family, for tests of layouts.
#pragma once

#include <string>
#include <vector>

#include "config/settings/settings.h"

namespace troika::shape {

config::ModelSettings narrow(bool tied);
config::ModelSettings narrow_gpt2(bool tied);
config::ModelSettings narrow_as(const std::string& architecture, bool tied);  // a relative of Llama
std::vector<config::ModelSettings> uneven_models();  // heads and widths that do not divide evenly over tp ranks

}  // namespace troika::shape
