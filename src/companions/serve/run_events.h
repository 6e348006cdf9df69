// What has happened to a run.
#pragma once

#include <string>

namespace troika::serve {

// A list of the last 1,000 events, in order, as events.jsonl has them.
std::string events_json(const std::string& folder);

}  // namespace troika::serve
