// Jinja's tests: `x is NAME`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/routine.h"

namespace troika::jinja {

// Null: there is none of that name. Its body gives a boolean.
const Routine* find_test(std::string_view name);
std::vector<std::string> test_names();

}  // namespace troika::jinja
