// What samples of the last attempt say of its hosts and ranks.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "diagnosis/facts.h"
#include "records/sample.h"

namespace troika::diagnosis {

using SamplesOfRanks = std::map<int, std::deque<records::Sample>>;

// Of each rank those behind its last first one (Sample::number 1), if that was not before `began`, less a minute for clocks.
SamplesOfRanks of_last_attempt(const SamplesOfRanks& all, double began);

std::map<std::string, HostFacts> host_facts(const SamplesOfRanks& samples);
std::map<int, Standing> standings(const SamplesOfRanks& samples);
std::map<int, RankFacts> rank_facts(const SamplesOfRanks& samples);

// How fast the steps of the last attempt were, for rules about speed.

// The median seconds of the last quarter of its steps over that of the first; 0: there are less than `least`.
double slowdown(const Facts& facts, std::size_t least);

// 20 steps, 10 seconds and three samples of every rank: what is shorter says nothing of speed.
bool is_long_enough(const Facts& facts);

double share(double seconds, const RankFacts& rank);  // of the rank's time

}  // namespace troika::diagnosis
