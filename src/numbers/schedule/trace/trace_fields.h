// Fields that both trace files share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "schedule/trace/trace.h"

namespace troika::schedule {

const char* activity_name(Event::Activity activity);  // compute, wait, transfer

// DataError naming `origin` when the text is none, the number not in 0..2^31-1, the time not within a million years.
Event::Activity read_activity(const std::string& text, const std::string& origin);
Instruction read_instruction(const std::string& text, const std::string& origin);
int read_index(const nlohmann::json& object, const std::string& key, const std::string& origin);
// A member that counts `unit_seconds` each, in seconds.
double read_seconds(const nlohmann::json& object, const std::string& key, double unit_seconds,
                    const std::string& origin);
// DataError when the event ends before it begins.
void refuse_backwards(const Event& event, const std::string& origin);
// The member `link` of `from`, where there is one.
void write_link(const std::optional<Link>& link, nlohmann::json* object);
std::optional<Link> read_link(const nlohmann::json& from, const std::string& origin);
// The member `host`, fit to be shown.
std::string read_host(const nlohmann::json& object, const std::string& origin);

}  // namespace troika::schedule
