// Findings that appear only when hosts are compared: environment, versions, speed of memory and links, MTU.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "doctor/host_report.h"

namespace troika::doctor {

// A pure function of the reports. Empty for fewer than two; else at least one finding of each of its checks.
std::vector<Finding> judge_hosts(const std::vector<HostReport>& reports);

// When the others saw a file that the first host wrote into the run's folder.
struct SharedFolder {
  std::string writer;
  bool written = false;
  struct Reader {
    std::string host;
    double seconds = -1;  // -1: it did not
  };
  std::vector<Reader> readers;
};
std::vector<Finding> judge_shared_folder(const SharedFolder& folder, const std::string& path);

// Names of hosts in one text. More than four that are all of `all`: "all 12 hosts".
base::Text list_hosts(const std::vector<std::string>& hosts, std::size_t all);

// Findings from the measurements between hosts: ports, MTU, clocks, names, the interfaces used, links slower than others. A pure
// function. `silent`: hosts that fell silent, which are reported elsewhere; their measurements count for nothing. At least one
// finding of each of its checks where any pair was measured.
std::vector<Finding> judge_pairs(const std::vector<HostReport>& reports, const std::vector<PairReport>& pairs,
                                 const std::set<std::string>& silent);

// Links that look slow or late: whatever else the hosts and the network did meanwhile may be why, so that these are measured again while
// nothing else is. By the numbers of `pairs`, the slowest first.
std::vector<std::size_t> worth_a_second_look(const std::vector<PairReport>& pairs);

// Combines two measurements of one link: the better of each.
void take_better(const PairReport& again, PairReport& pair);

}  // namespace troika::doctor
