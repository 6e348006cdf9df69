// What samples of the last attempt say of its hosts and ranks.
#pragma once

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

}  // namespace troika::diagnosis
