// Tables of text as programs for spreadsheets read them (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace troika::base {

std::string csv_field(const std::string& text);                  // quoted where it must be
std::string csv_record(const std::vector<std::string>& fields);  // without the end of its line

}  // namespace troika::base
