// Fields that both trace files share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "schedule/trace.h"

namespace troika::schedule {

const char* activity_name(Event::Activity activity);  // compute, wait, transfer

// DataError naming `origin` when the text is none, or the number not in 0..2^31-1.
Event::Activity read_activity(const std::string& text, const std::string& origin);
Instruction read_instruction(const std::string& text, const std::string& origin);
int read_index(const nlohmann::json& object, const std::string& key, const std::string& origin);

}  // namespace troika::schedule
