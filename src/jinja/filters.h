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

// The tables that find_filter looks into.
const Routine* find_text_filter(std::string_view name);
const Routine* find_number_filter(std::string_view name);
const Routine* find_list_filter(std::string_view name);
const Routine* find_order_filter(std::string_view name);
void add_text_filter_names(std::vector<std::string>* names);
void add_number_filter_names(std::vector<std::string>* names);
void add_list_filter_names(std::vector<std::string>* names);
void add_order_filter_names(std::vector<std::string>* names);

}  // namespace troika::jinja
