// Rows of metrics.jsonl as they are in the file.
#pragma once

#include <cstdint>
#include <string>

#include "serve/columns.h"
#include "serve/run_file.h"

namespace troika::serve {

inline constexpr std::int64_t most_rows = 10'000;

// A JSON array of the rows from step `from` on, at most `limit` of them, each as its line has it. `file` is what `columns` were read
// from.
std::string rows_json(const Columns& columns, const RunFile& file, std::int64_t from, std::int64_t limit);

}  // namespace troika::serve
