// What shows only when hosts are put beside each other: environment, versions, speed of memory and links, MTU.
#pragma once

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

}  // namespace troika::doctor
