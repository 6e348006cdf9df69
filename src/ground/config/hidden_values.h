// Values that are neither kept nor printed: passwords and tokens that other programs take as flags.
#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace troika::config {

// `words` with "..." for each value that read_flags would drop: of flags with FlagTable::ignore. They mean the same.
std::vector<std::string> without_hidden_values(const std::vector<const FlagTable*>& tables,
                                               std::vector<std::string> words);

}  // namespace troika::config
