// Values from words alone: records of versions that wrote sentences only, lines of logs, and messages of other programs and
// libraries. Words are parsed nowhere else.
#pragma once

#include <cstdint>
#include <string>

#include "base/cause.h"
#include "records/incident.h"
#include "records/sample.h"

namespace troika::records {

// Parses a notice or a failure report of an earlier version. An unknown sentence is told in its own words.
Incident incident_in(const std::string& sentence);

// The cause in an error's sentence or a line of a log.
base::Cause cause_in(const std::string& words);

// "the launcher got signal 1 (SIGHUP)"; 0: none.
int signal_in(const std::string& sentence);

// Numbers that an error names: "port 29500", "the store at 10.0.0.1:29500"; "begins after 64 ids". 0: none.
int port_in(const std::string& words);
std::int64_t ids_in(const std::string& words);

// "threads: 2, on 1 of 4 cores (bound to 3)", in a line of a rank's log; no threads in another line.
ThreadUse threads_in(const std::string& line);

// A line of a rank's log that the rank wrote itself, and no library or the system.
bool is_line_of_ours(const std::string& line);

}  // namespace troika::records
