// What each rank does and for whom it waits.
#pragma once

#include <map>
#include <vector>

#include "monitor/windows.h"

namespace troika::monitor {

// By rank: those that state.json names, and those that samples are of.
std::vector<RankView> rank_views(const Observed& observed, const std::map<int, SampleWindow>& windows,
                                 Condition condition);

// Fills chain, circle and held from where the ranks are (standing, place). A rank that waits and does not know for whom waits for
// the only rank that does not wait, where there is one. Samples are of different moments, in which ranks that exchange messages wait for
// each other by turns: a circle counts where all in it have waited for `circle_seconds`; else nobody knows for whom they wait.
void follow_chains(std::vector<RankView>* ranks, double circle_seconds);

// Fills slowness, like_seconds and slow from pace and coordinates: ranks of one pipeline stage do the same work.
void compare_paces(std::vector<RankView>* ranks);

}  // namespace troika::monitor
