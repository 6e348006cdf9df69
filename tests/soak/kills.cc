#include "soak/kills.h"

#include <signal.h>

#include <algorithm>
#include <array>

#include "base/random.h"

namespace troika::soak {

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {"dp2", 2, 1, {"--dp", "2"}},
      {"pp2", 2, 1, {"--pp", "2", "--checkpoint.async", "off"}, true},
      {"pp3", 3, 1, {"--pp", "3"}},
      {"dp2xpp2", 2, 2, {"--dp", "2", "--pp", "2"}},
      {"zero1", 2, 1, {"--dp", "2", "--zero", "1", "--checkpoint.async", "off"}, true},
      {"zero2", 2, 1, {"--dp", "2", "--zero", "2"}},
      {"zero3", 2, 1, {"--dp", "2", "--zero", "3", "--checkpoint.async", "off"}, true}};
  return all;
}

std::string to_text(Target target) {
  return target == Target::worker ? "worker" : target == Target::launcher ? "launcher" : "launcher of host 0";
}

std::string to_text(Phase phase) {
  constexpr std::array<const char*, 5> names = {"join", "load", "step", "save", "evaluation"};
  return names[static_cast<std::size_t>(phase)];
}

std::string name_of_signal(int signal) {
  return signal == SIGKILL ? "SIGKILL" : signal == SIGTERM ? "SIGTERM" : "SIGSTOP";
}

// All kinds in an order drawn anew for every round of them; the layouts take turns.
std::vector<Kill> choose_kills(std::int64_t count, std::uint64_t seed, const std::vector<Layout>& layouts) {
  const base::Philox random(seed, "soak");
  std::uint64_t drawn = 0;
  const auto below = [&](std::size_t bound) { return random.bits(drawn++) % bound; };
  std::vector<Kill> round, all;
  for (const Target target : {Target::worker, Target::launcher, Target::leader})
    for (const int signal : {SIGKILL, SIGTERM, SIGSTOP})
      for (const Phase phase : {Phase::join, Phase::load, Phase::step, Phase::save, Phase::evaluation}) {
        Kill kill;
        kill.target = target;
        kill.signal = signal;
        kill.phase = phase;
        round.push_back(kill);
      }
  for (std::int64_t number = 0; number < count; ++number) {
    const auto place = static_cast<std::size_t>(number) % round.size();
    if (place == 0)
      for (std::size_t i = round.size() - 1; i > 0; --i) std::swap(round[i], round[below(i + 1)]);
    Kill kill = round[place];
    kill.number = number;
    kill.layout =
        layouts[(static_cast<std::size_t>(number) + static_cast<std::size_t>(number) / round.size()) % layouts.size()];
    const auto hosts = static_cast<std::size_t>(kill.layout.hosts);
    const std::size_t host = 1 + below(hosts - 1), rank = below(static_cast<std::size_t>(kill.layout.world()));
    if (kill.target == Target::worker) kill.rank = static_cast<int>(rank);
    if (kill.target == Target::launcher) kill.rank = static_cast<int>(host) * kill.layout.ranks_per_host;
    kill.chance = static_cast<double>(below(1000)) / 1000;
    all.push_back(kill);
  }
  return all;
}

}  // namespace troika::soak
