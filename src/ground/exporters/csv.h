// The rows of a run as a table for spreadsheets.
#pragma once

#include <string>

#include "records/run_reader.h"

namespace troika::exporters {

// RFC 4180, with a head. A column for each key that occurs: those of metrics.jsonl in its order, then further ones by name. Numbers as
// there; one that is not finite is empty.
std::string csv(const records::RunReader& run);

}  // namespace troika::exporters
