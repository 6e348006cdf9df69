// Small files of /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika::doctor {

// Without white space at its ends; "" when the file is absent, empty, or not readable for this user.
std::string word_in(const std::string& path);
std::optional<std::int64_t> number_in(const std::string& path);  // nothing where it holds none

// Of "Name:   123 kB" and "name 123" lines: the number behind the name.
std::optional<std::int64_t> number_behind(const std::string& text, const std::string& name);

// Paths below a folder, by name: those that begin so.
std::vector<std::string> entries_named(const std::string& folder, const std::string& beginning);

}  // namespace troika::doctor
