#include "launch/flags.h"

#include <algorithm>
#include <iterator>

namespace troika::launch {

namespace {

// The part of `cores` that the number'th of `count` has.
std::vector<int> part_of(const std::vector<int>& cores, std::size_t number, std::size_t count) {
  const auto from = [&](std::size_t i) {
    return cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * i / count);
  };
  return {from(number), from(number + 1)};
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// By rank; empty where they cannot all be bound so.
std::vector<std::vector<int>> cores_near(const std::vector<int>& allowed, const std::vector<std::vector<int>>& near) {
  std::map<std::vector<int>, std::size_t> ranks, seen;
  for (const auto& cores : near) ++ranks[common(allowed, cores)];
  for (const auto& [cores, count] : ranks)
    if (cores.size() < count) return {};
  std::vector<std::vector<int>> own;
  for (const auto& cores : near) {
    const std::vector<int> shared = common(allowed, cores);
    own.push_back(part_of(shared, seen[shared]++, ranks[shared]));
  }
  return own;
}

}  // namespace

std::vector<Share> share_cores(const std::vector<int>& allowed, int usable, int ranks, Bind bind,
                               const std::vector<std::vector<int>>& near) {
  std::vector<Share> shares(static_cast<std::size_t>(ranks));
  const bool enough = bind == Bind::automatic && ranks <= usable && static_cast<std::size_t>(ranks) <= allowed.size();
  const auto own = enough ? cores_near(allowed, near) : std::vector<std::vector<int>>();
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    shares[rank].threads = std::max(1, usable / ranks);
    if (!own.empty()) {
      shares[rank].cores = own[rank];
      shares[rank].threads = std::min(shares[rank].threads, static_cast<int>(own[rank].size()));
    } else if (enough && ranks > 1) {
      shares[rank].cores = part_of(allowed, rank, shares.size());
    }
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

}  // namespace troika::launch
