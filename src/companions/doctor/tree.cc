#include "doctor/tree.h"

#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "host/memory.h"

namespace troika::doctor {

std::string word_in(const std::string& path) { return base::trim(host::content_or_empty(path)); }

std::optional<std::int64_t> number_in(const std::string& path) {
  std::int64_t number = 0;
  if (!base::parse_int(word_in(path), &number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> number_behind(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (!first.empty() && first.back() == ':') first.pop_back();
    std::int64_t number = 0;
    if (first == name && base::parse_int(second, &number)) return number;
  }
  return std::nullopt;
}

std::vector<std::string> entries_named(const std::string& folder, const std::string& beginning) {
  std::vector<std::string> paths;
  try {
    for (const std::string& name : base::list_directory(folder))
      if (name.compare(0, beginning.size(), beginning) == 0) paths.push_back(folder + "/" + name);
  } catch (const base::DataError&) {  // not readable for this user: as if absent
  }
  return paths;
}

}  // namespace troika::doctor
