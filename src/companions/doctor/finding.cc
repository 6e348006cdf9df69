#include "doctor/finding.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace troika::doctor {
namespace {

constexpr std::array<std::string_view, 5> status_words = {"ok", "note", "warn", "fail", "not_checked"};

Status status_named(const std::string& word) {
  for (std::size_t i = 0; i < status_words.size(); ++i)
    if (status_words[i] == word) return static_cast<Status>(i);
  throw base::DataError(base::say("a host's report has the status '{}', which there is not", word));
}

nlohmann::json both(const base::Text& told) { return {told.english, told.chinese}; }

base::Text told_in(const nlohmann::json& json, const std::string& key) {
  const nlohmann::json& pair = base::json_array(json, key, "a host's report");
  if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
    throw base::DataError(base::say("a host's report has no text in two languages at '{}'", key));
  return {pair[0], pair[1]};
}

}  // namespace

std::string_view word_of(Status status) { return status_words[static_cast<std::size_t>(status)]; }

nlohmann::json to_json(const Finding& finding) {
  return {{"host", finding.host},
          {"check", finding.check},
          {"status", word_of(finding.status)},
          {"measured", both(finding.measured)},
          {"wanted", both(finding.wanted)},
          {"advice", both(finding.advice)}};
}

Finding parse_finding(const nlohmann::json& json) {
  const std::string origin = "a host's report";
  return {base::json_string(json, "host", origin),
          base::json_string(json, "check", origin),
          status_named(base::json_string(json, "status", origin)),
          told_in(json, "measured"),
          told_in(json, "wanted"),
          told_in(json, "advice")};
}

}  // namespace troika::doctor
