// A conversation as a chat template sees it.
#pragma once

#include <nlohmann/json.hpp>

namespace troika::datasets {

// Members keep the order of their file: templates print some of them as JSON.
struct Conversation {
  nlohmann::ordered_json messages;  // [{"role": ..., "content": ..., ...}, ...]
  nlohmann::ordered_json tools;     // a list of descriptions, or null
};

}  // namespace troika::datasets
