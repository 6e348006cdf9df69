// The roles of messages.
#pragma once

#include <string>

#include "base/language.h"
#include "data/record_format.h"

namespace troika::data {

// Ours for one of the record's: system, developer, user, assistant, tool, ipython; "" if it is not one.
std::string role_of(const std::string& word, const RecordShape& shape);

// DataError naming `origin`, `name`, the word, the nearest role and those that there are.
[[noreturn]] void refuse_role(const std::string& word, const std::string& name, const RecordShape& shape,
                              base::Origin origin);

}  // namespace troika::data
