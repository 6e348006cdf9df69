#include "config/profile.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"

namespace troika::config {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;

// First and last of "3" or "5-7".
std::optional<Range> parse_range(const std::string& part) {
  const auto dash = part.find('-');
  Range range;
  if (!base::parse_int(base::trim(part.substr(0, dash)), &range.first) || range.first < 0) return std::nullopt;
  range.second = range.first;
  if (dash != std::string::npos && !base::parse_int(base::trim(part.substr(dash + 1)), &range.second))
    return std::nullopt;
  return range.second < range.first ? std::nullopt : std::optional<Range>(range);
}

std::optional<std::vector<Range>> parse_profile(const std::string& profile) {
  if (profile == "all") return std::vector<Range>{{0, std::numeric_limits<std::int64_t>::max()}};
  std::vector<Range> ranges;
  for (const auto& part : base::split(profile, ',')) {
    const auto range = parse_range(part);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

}  // namespace

bool is_profile(const std::string& profile) { return parse_profile(profile).has_value(); }

bool is_profiled(const std::string& profile, std::int64_t step) {
  const auto ranges = parse_profile(profile);
  if (!ranges) return false;
  for (const auto& [first, last] : *ranges) {
    if (first <= step && step <= last) return true;
  }
  return false;
}

}  // namespace troika::config
