#include "probe/tournament.h"

#include <algorithm>

namespace troika::probe {

std::vector<std::vector<Pair>> tournament(int players) {
  const int places = players + players % 2;  // who meets the one too many has no match
  std::vector<std::vector<Pair>> rounds;
  for (int round = 0; players > 1 && round + 1 < places; ++round) {
    const auto at = [&](int place) { return place == 0 ? 0 : 1 + (place - 1 + round) % (places - 1); };
    std::vector<Pair> pairs;
    for (int place = 0; place < places / 2; ++place) {
      const auto [low, high] = std::minmax({at(place), at(places - 1 - place)});
      if (high < players) pairs.emplace_back(low, high);
    }
    std::sort(pairs.begin(), pairs.end());
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

}  // namespace troika::probe
