// The functions that every template may call (range, dict, namespace, raise_exception, strftime_now) and the tests of
// `x is NAME`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/routine.h"

namespace troika::jinja {

// Null: there is none of that name.
const Routine* find_function(std::string_view name);
std::vector<std::string> function_names();

// Jinja's tests: `x is NAME`.
// Null: there is none of that name. Its body gives a boolean.
const Routine* find_test(std::string_view name);
std::vector<std::string> test_names();

}  // namespace troika::jinja
