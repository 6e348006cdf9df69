#include "schedule/activity.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace troika::schedule {

const char* activity_name(Event::Activity activity) {
  switch (activity) {
    case Event::Activity::compute:
      return "compute";
    case Event::Activity::wait:
      return "wait";
    case Event::Activity::transfer:
      return "transfer";
  }
  return "compute";
}

Event::Activity read_activity(const std::string& text, const std::string& origin) {
  for (const auto activity : {Event::Activity::compute, Event::Activity::wait, Event::Activity::transfer}) {
    if (text == activity_name(activity)) return activity;
  }
  throw base::DataError(fmt::format("{}: '{}' is none of compute, wait, transfer", origin, text));
}

Instruction read_instruction(const std::string& text, const std::string& origin) {
  try {
    return parse_instruction(text);
  } catch (const base::ConfigError& error) {
    throw base::DataError(fmt::format("{}: {}", origin, error.what()));
  }
}

int read_index(const nlohmann::json& object, const std::string& key, const std::string& origin) {
  const std::int64_t value = base::json_int(object, key, origin);
  if (value >= 0 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
  throw base::DataError(
      fmt::format("{}: '{}' is {}, but it must be from 0 to {}", origin, key, value, std::numeric_limits<int>::max()));
}

}  // namespace troika::schedule
