// What a check has found on a host, in both languages: one row of the report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "base/say.h"

namespace troika::doctor {

// ok: well. note: worth knowing, nobody's alarm. warn: the run is slower or at risk. fail: it would stop the run.
enum class Status { ok, note, warn, fail, not_checked };

std::string_view word_of(Status status);

struct Finding {
  std::string host;  // "pi1", of a pair "pi1, pi2"
  std::string check;
  Status status = Status::ok;
  base::Text measured, wanted, advice;  // advice: one sentence; empty where there is nothing to do
};

inline bool is_alarm(const Finding& finding) {
  return finding.status == Status::warn || finding.status == Status::fail;
}

// Between hosts, with both languages. DataError for what is no finding.
nlohmann::json to_json(const Finding& finding);
Finding parse_finding(const nlohmann::json& json);

}  // namespace troika::doctor
