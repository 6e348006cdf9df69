// Faults in a list, for an error that names them all.
#pragma once

#include <vector>

#include "base/say.h"

namespace troika::checkpoint {

// A line for each of the first ten, below the sentence before it, then how many more there are.
inline base::Text listed(const std::vector<base::Text>& faults) {
  constexpr std::size_t most = 10;
  std::vector<base::Text> lines{{}};
  for (std::size_t i = 0; i < faults.size() && i < most; ++i) lines.push_back(faults[i]);
  if (faults.size() > most) lines.push_back(base::say("and {} more", faults.size() - most));
  return base::join(lines, "\n  ", "\n  ");
}

}  // namespace troika::checkpoint
