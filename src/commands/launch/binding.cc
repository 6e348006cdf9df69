#include "commands/launch/binding.h"

#include <algorithm>

namespace troika::commands {

std::vector<Share> share_cores(const std::vector<int>& allowed, int usable, int ranks, Bind bind) {
  std::vector<Share> shares(static_cast<std::size_t>(ranks));
  const bool bound =
      bind == Bind::automatic && ranks > 1 && ranks <= usable && static_cast<std::size_t>(ranks) <= allowed.size();
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    shares[rank].threads = std::max(1, usable / ranks);
    if (!bound) continue;
    const auto from = [&](std::size_t r) {
      return allowed.begin() + static_cast<std::ptrdiff_t>(allowed.size() * r / shares.size());
    };
    shares[rank].cores.assign(from(rank), from(rank + 1));
  }
  return shares;
}

void set_thread_variables(const Share& share, int usable, int ranks, int stated_threads,
                          std::map<std::string, std::string>& environment) {
  environment.insert({"OMP_NUM_THREADS", std::to_string(share.threads)});
  const int threads = stated_threads > 0 ? stated_threads : share.threads;
  // A thread that spins until its next piece of work takes the core from one that has work.
  if (ranks * threads > usable) environment.insert({"OMP_WAIT_POLICY", "passive"});
}

}  // namespace troika::commands
