// How many records a file of lines holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troika::serve {

// Lines that are not blank, of `name` in `folder`; takes the file's size off the `budget` of bytes. Nothing where the budget is smaller,
// or there is no such file.
std::optional<std::int64_t> lines_of(const std::string& folder, const std::string& name, std::int64_t* budget);

}  // namespace troika::serve
