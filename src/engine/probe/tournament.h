// Which hosts measure their link when.
#pragma once

#include <utility>
#include <vector>

namespace troika::probe {

using Pair = std::pair<int, int>;  // the lower number first

// Rounds in which every two of `players` meet once, nobody twice in a round: players - 1 rounds, one more where they are odd. By
// turning a circle around one that stands still.
std::vector<std::vector<Pair>> tournament(int players);

}  // namespace troika::probe
