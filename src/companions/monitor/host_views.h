// How the hosts of a run are, and what passes between its ranks.
#pragma once

#include <map>
#include <vector>

#include "monitor/windows.h"

namespace troika::monitor {

std::vector<HostView> host_views(const std::vector<RankView>& ranks, const std::map<int, SampleWindow>& windows);

// Those with traffic, the most first. What a sender counts is taken; of one whose samples are missing, what receivers count.
std::vector<LinkView> link_views(const std::map<int, SampleWindow>& windows);

}  // namespace troika::monitor
