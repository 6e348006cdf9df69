// RUN/run.log: the output of a run, in one file for all its attempts.
#pragma once

#include <string>

namespace troika::records {

// "2025-03-01 12:00:00 text", local time; further lines of the text are indented. Without newline at the end.
std::string log_line(double wall_seconds, const std::string& text);

}  // namespace troika::records
