// What the measurements between hosts say: ports, MTU, clocks, names, the interfaces used, links slower than others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "doctor/host_report.h"

namespace troika::doctor {

// A pure function. `silent`: hosts that fell silent, of whom something else tells; what was measured of them counts for nothing.
// At least one finding of each of its checks where any pair was measured.
std::vector<Finding> judge_pairs(const std::vector<HostReport>& reports, const std::vector<PairReport>& pairs,
                                 const std::set<std::string>& silent);

// Links that look slow or late: whatever else the hosts and the network did meanwhile may be why, so that these are measured again while
// nothing else is. By the numbers of `pairs`, the slowest first.
std::vector<std::size_t> worth_a_second_look(const std::vector<PairReport>& pairs);

// What two measurements of one link say of it: the better of each.
void take_better(const PairReport& again, PairReport& pair);

}  // namespace troika::doctor
