// Functions that every template may call: range, dict, namespace, raise_exception, strftime_now.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/routine.h"

namespace troika::jinja {

// Null: there is none of that name.
const Routine* find_function(std::string_view name);
std::vector<std::string> function_names();

}  // namespace troika::jinja
