// Two ranks that are launched on one host to measure the link between them (measure_host.h).
#pragma once

#include <map>
#include <string>

#include "machine/rates.h"

namespace troika::probe {

// The word behind `probe` that makes a process one of them.
constexpr const char inside_link_word[] = "--inside-link";

// The first of them prints the link.
int run_inside_link(const std::map<std::string, std::string>& environment);
bool read_inside_link(const std::string& printed, machine::Link* link);  // false: it is not there

}  // namespace troika::probe
