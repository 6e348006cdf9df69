// From what a user names to the folder of a run.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"

namespace troika::monitor {

// Whether the folder has a file that only runs have.
bool is_run(const std::string& folder);

// `path`: a run's folder, a file of a run (which need not be there yet), or a folder with runs below it, of which the one counts
// whose state or metrics changed last; "": as "runs". A folder that is empty may become a run and counts as one. ConfigError, with
// the nearest run, for a path that leads to none.
std::string find_run(const std::string& path);

// The sentence about a folder that holds no records of a run, with the run that is meant: one below it, or a near one.
base::Text no_records_in(const std::string& folder);

// By name; nothing for a folder that may not be read, or is none.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace troika::monitor
