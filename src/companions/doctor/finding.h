// A finding of a check on a host, in both languages: one row of the report.
#pragma once

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

// 0: well; 2: something would stop the run; 75: a host did not answer, whatever else was found.
int exit_code_of(const std::vector<Finding>& findings);

// An array of {"host", "check", "status", "measured", "wanted", "advice"}, one object a line.
std::string json_report(const std::vector<Finding>& findings, base::Language language);

// Good findings first, then checks that were skipped, then notes, warnings and problems that would stop the run, and a summary
// line. A finding that is the same on several hosts appears once.
std::string text_report(const std::vector<Finding>& findings, std::size_t hosts, double seconds,
                        base::Language language);

// "governor: powersave; wanted: at least 80 %. The cores run below their clock: ..."
std::string one_line(const Finding& finding, base::Language language);

}  // namespace troika::doctor
