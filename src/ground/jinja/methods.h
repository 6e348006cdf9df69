// Python's methods of str, dict and list.
#pragma once

#include <string_view>

#include "jinja/routine.h"

namespace troika::jinja {

// Null: values of this type have no such method. Those that would change a value are there, and fail.
const Routine* find_method(const Value& self, std::string_view name);

const Routine* find_text_method(std::string_view name);

// The tables behind find_text_method: split, partition, ...; find, count, startswith, ...
const Routine* find_split_method(std::string_view name);
const Routine* find_search_method(std::string_view name);

}  // namespace troika::jinja
