// Small models of every family, for tests of layouts.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace troika::model {

config::ModelSettings small(bool tied);
config::ModelSettings small_gpt2(bool tied);
config::ModelSettings small_as(const std::string& architecture, bool tied);  // a relative of Llama
std::vector<config::ModelSettings> uneven_models();  // heads and widths that do not divide evenly over tp ranks

}  // namespace troika::model
