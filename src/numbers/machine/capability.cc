#include "machine/capability.h"

#include <fmt/format.h>

#include <tuple>

#include "base/say.h"

namespace troika::machine {

std::string to_text(Capability capability) { return fmt::format("{}.{}", capability.major, capability.minor); }

std::optional<base::Text> lack_of_card(Capability card) {
  if (std::tie(card.major, card.minor) >= std::tie(least_capability.major, least_capability.minor)) return std::nullopt;
  return base::say("Troika's kernels need compute capability {} or later, and this card has {}", to_text(least_capability), to_text(card));
}

// NVIDIA's "CUDA Toolkit Release Notes", the table of minor version compatibility.
std::optional<int> least_driver(int cuda) {
  switch (cuda) {
    case 11: return 450;
    case 12: return 525;
    case 13: return 580;
    default: return std::nullopt;
  }
}

std::optional<base::Text> lack_of_driver(int driver, int cuda) {
  const std::optional<int> least = least_driver(cuda);
  if (!least || driver >= *least) return std::nullopt;
  return base::say("driver {0} is older than {1}, which CUDA {2} needs; update it", driver, *least, cuda);
}

}  // namespace troika::machine
