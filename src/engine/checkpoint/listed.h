// Faults in a list, for an error that names them all.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace troika::checkpoint {

// A line for each of the first ten, then how many more there are.
inline std::string listed(const std::vector<std::string>& faults) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < faults.size() && i < most; ++i) text += "\n  " + faults[i];
  if (faults.size() > most) text += fmt::format("\n  and {} more", faults.size() - most);
  return text;
}

}  // namespace troika::checkpoint
