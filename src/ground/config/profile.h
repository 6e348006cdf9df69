// Which steps the timeline records: "" none, "all", or numbers and ranges such as "3" and "2,5-7".
#pragma once

#include <cstdint>
#include <string>

namespace troika::config {

// False for text that is none of these forms. Ranges run upwards.
bool is_profile(const std::string& profile);

// Whether step number `step` (as metrics.jsonl counts) is recorded. Malformed text records nothing.
bool is_profiled(const std::string& profile, std::int64_t step);

}  // namespace troika::config
