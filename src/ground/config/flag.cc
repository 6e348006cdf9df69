#include "config/flag.h"

#include <fmt/format.h>

#include <algorithm>

namespace troika::config {

std::string Flag::key() const { return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name); }
std::string Flag::flag() const { return "--" + normalised(key()); }

std::string normalised(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

bool is_spelling_of(const Flag& flag, std::string_view name) {
  const auto equal = [&](std::string_view other) { return same_name(name, other); };
  return std::any_of(flag.flags.begin(), flag.flags.end(), equal) ||
         std::any_of(flag.familiar.begin(), flag.familiar.end(), equal);
}

bool means(std::string_view name, const Flag& flag) {
  if (is_spelling_of(flag, name)) return true;
  if (flag.section.empty()) return same_name(name, flag.name);
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || name.substr(0, dot) != flag.section) return false;
  const std::string_view rest = name.substr(dot + 1);
  return same_name(rest, flag.name) || is_spelling_of(flag, rest);
}

}  // namespace troika::config
