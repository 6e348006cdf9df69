// The doctor's findings as people and scripts read them.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "doctor/finding.h"

namespace troika::doctor {

// 0: well; 2: something would stop the run; 75: a host did not answer, whatever else was found.
int exit_code_of(const std::vector<Finding>& findings);

// An array of {"host", "check", "status", "measured", "wanted", "advice"}, one object a line.
std::string json_report(const std::vector<Finding>& findings, base::Language language);

// What is well first, then what was not checked, then notes, warnings and what would stop the run, and a line that sums up. What is the
// same on several hosts stands once.
std::string text_report(const std::vector<Finding>& findings, std::size_t hosts, double seconds,
                        base::Language language);

// "governor: powersave; wanted: at least 80 %. The cores run below their clock: ..."
std::string one_line(const Finding& finding, base::Language language);

}  // namespace troika::doctor
