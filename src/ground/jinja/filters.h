// Jinja's filters: `x | NAME`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/routine.h"

namespace troika::jinja {

// Null: there is none of that name.
const Routine* find_filter(std::string_view name);
std::vector<std::string> filter_names();

// Those that give lists or choose from them (list_filters.cc).
const Routine* find_list_filter(std::string_view name);
void add_list_filter_names(std::vector<std::string>* names);

}  // namespace troika::jinja
