// What one host says of itself: its findings, and facts that mean something only beside those of other hosts.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/host_view.h"

namespace troika::doctor {

struct HostFacts {
  std::vector<Interface> interfaces;               // that are up
  std::map<std::string, std::string> environment;  // of the variables that matter to a run, those that are set
  std::map<std::string, std::string> versions;     // "build", "kernel", "processor", "instructions"
  double memory_bytes_per_second = -1;             // -1: not measured
  std::string interface;                           // comm.interface, as stated
  std::string folder;                              // of the run
};

struct HostReport {
  std::string host;  // as the whole report calls it
  HostFacts facts;
  std::vector<Finding> findings;
};

nlohmann::json to_json(const HostReport& report);
HostReport parse_host_report(const nlohmann::json& json);  // DataError

// The facts of a view. `program`: the path of troika, whose build and neighbours are looked at.
HostFacts facts_of(const HostView& view, const std::string& program);

// Those of `environment` that matter to a run. Proxies may hold passwords: only that they are set.
std::map<std::string, std::string> watched_variables(const std::map<std::string, std::string>& environment);

}  // namespace troika::doctor
