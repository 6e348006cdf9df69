#include "jinja/filters.h"

namespace troika::jinja {

const Routine* find_filter(std::string_view name) {
  for (const auto find_in : {find_text_filter, find_number_filter, find_list_filter, find_order_filter})
    if (const Routine* found = find_in(name)) return found;
  return nullptr;
}

std::vector<std::string> filter_names() {
  std::vector<std::string> names;
  for (const auto add : {add_text_filter_names, add_number_filter_names, add_list_filter_names, add_order_filter_names})
    add(&names);
  return names;
}

}  // namespace troika::jinja
