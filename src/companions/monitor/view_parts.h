// The parts of which view_of makes a view.
#pragma once

#include <map>
#include <vector>

#include "monitor/watch.h"

namespace troika::monitor {

// How far the run has come. `view` has its condition and silence.
Progress progress_of(const Observed& observed, const std::map<int, SampleWindow>& windows, const View& view);

// What each rank does and whom it waits for. By rank: those that state.json names, and those that samples are of.
std::vector<RankView> rank_views(const Observed& observed, const std::map<int, SampleWindow>& windows,
                                 Condition condition);

// Fills chain, circle and held from where the ranks are (standing, place). A rank that waits and does not know for whom waits for
// the only rank that does not wait, where there is one. Samples are of different moments, in which ranks that exchange messages wait for
// each other by turns: a circle counts where all in it have waited for `circle_seconds`; else nobody knows for whom they wait.
void follow_chains(std::vector<RankView>* ranks, double circle_seconds);

// Fills slowness, like_seconds and slow from pace and coordinates: ranks of one pipeline stage do the same work.
void compare_paces(std::vector<RankView>* ranks);

std::vector<HostView> host_views(const std::vector<RankView>& ranks, const std::map<int, SampleWindow>& windows);

// Those with traffic, the most first. What a sender counts is taken; of one whose samples are missing, what receivers count.
std::vector<LinkView> link_views(const std::map<int, SampleWindow>& windows);

// What a person should look at. `view` has all but its findings; ranks of which the watch says that they are slow become so.
std::vector<Finding> findings_of(const Observed& observed, View* view);

}  // namespace troika::monitor
