// Which cores each rank of this host has, and how many threads it starts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/choices.h"

namespace troika::launch {

enum class Bind { automatic, none };
constexpr config::Words<2> words_of(Bind) { return {"auto", "none"}; }

struct Share {
  std::vector<int> cores;  // empty: the system may put the rank anywhere
  int threads = 1;
};

// One share per rank. `allowed` are the cores of the host, ascending, `usable` how many of them can work at a time. Bound to
// neighbouring cores, none of which has two ranks, when that was not declined, there are several ranks, and cores enough.
// `near`: of ranks with a GPU each, the cores next to it, or empty; where all are known, allowed and enough, ranks with equal
// ones share those, and a single rank is bound too.
std::vector<Share> share_cores(const std::vector<int>& allowed, int usable, int ranks, Bind bind,
                               const std::vector<std::vector<int>>& near = {});

// OMP_NUM_THREADS of a rank's share, where `environment` has none; and when all ranks together have more threads than there
// are usable cores, threads that wait for work sleep. `stated_threads` of train.threads; 0: none stated.
void set_thread_variables(const Share& share, int usable, int ranks, int stated_threads,
                          std::map<std::string, std::string>& environment);

}  // namespace troika::launch
