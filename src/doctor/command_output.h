// What a small program of the system says.
#pragma once

#include <string>
#include <vector>

namespace troika::doctor {

// Its standard output, at most 64 KiB; "" when it is not there, fails, or is not done within `seconds` (then it is killed).
std::string output_of(const std::vector<std::string>& words, double seconds);

}  // namespace troika::doctor
