// What the measurements between hosts say: ports, MTU, clocks, names, the interfaces used, links slower than others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "doctor/host_report.h"
#include "doctor/pair_report.h"

namespace troika::doctor {

// A pure function. `silent`: hosts that fell silent, of whom something else tells; what was measured of them counts for nothing.
// At least one finding of each of its checks where any pair was measured.
std::vector<Finding> judge_pairs(const std::vector<HostReport>& reports, const std::vector<PairReport>& pairs,
                                 const std::set<std::string>& silent);

}  // namespace troika::doctor
