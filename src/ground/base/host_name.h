// What this host calls itself.
#pragma once

#include <string>

namespace troika::base {

std::string host_name();  // "unknown host" where the system does not say

}  // namespace troika::base
