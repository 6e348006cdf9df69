#include "schedule/trace/trace_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::schedule {

using nlohmann::json;

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
  throw base::DataError(base::say("{}: '{}' is none of compute, wait, transfer", origin, text));
}

Instruction read_instruction(const std::string& text, const std::string& origin) {
  try {
    return parse_instruction(text);
  } catch (const base::ConfigError& error) {
    throw base::DataError(base::say("{}: {}", origin, base::text_of(error)));
  }
}

int read_index(const json& object, const std::string& key, const std::string& origin) {
  const std::int64_t value = base::json_int(object, key, origin);
  if (value >= 0 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
  throw base::DataError(base::say("{}: '{}' is {}, but it must be from 0 to {}", origin, key, value, std::numeric_limits<int>::max()));
}

double read_seconds(const json& object, const std::string& key, double unit_seconds, const std::string& origin) {
  constexpr double longest = 3.2e13;  // differences and sums of such times are finite
  const double seconds = base::json_double(object, key, origin) * unit_seconds;
  if (std::abs(seconds) <= longest) return seconds;
  throw base::DataError(base::say("{}: '{}' is {:g} s, which is no time", origin, key, seconds));
}

void refuse_backwards(const Event& event, const std::string& origin) {
  if (event.end_seconds >= event.begin_seconds) return;
  throw base::DataError(
      base::say("{}: '{}' ends {:.9f} s before it begins", origin, to_text(event.instruction), event.begin_seconds - event.end_seconds));
}

void write_link(const std::optional<Link>& link, json* object) {
  if (!link) return;
  (*object)["link"] = {{"latency_seconds", link->latency_seconds}, {"bytes_per_second", link->bytes_per_second}};
}

std::optional<Link> read_link(const json& from, const std::string& origin) {
  if (!from.contains("link")) return std::nullopt;
  const json& link = base::json_object(from, "link", origin);
  const Link read{read_seconds(link, "latency_seconds", 1, origin),
                  base::json_double(link, "bytes_per_second", origin)};
  if (read.latency_seconds >= 0 && read.bytes_per_second > 0 && std::isfinite(read.bytes_per_second)) return read;
  throw base::DataError(base::say("{}: a link of {:g} s and {:g} bytes/s is none", origin, read.latency_seconds, read.bytes_per_second));
}

std::string read_host(const json& object, const std::string& origin) {
  constexpr std::size_t longest = 255;  // of a host name
  return base::printable(base::json_string(object, "host", origin), longest);
}

}  // namespace troika::schedule
