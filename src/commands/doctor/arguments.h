// The command line of `troika doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/flag_table.h"
#include "doctor/host_view.h"

namespace troika::commands {

struct DoctorArguments {
  config::ParsedSettings parsed;
  std::string hosts;    // by ssh (ssh/hosts.h); "": this host, or those of the launch
  std::string program;  // troika on the other hosts; "": the path that it has here
  bool quick = false, json = false;
  double wait_seconds = 12;                 // for the first word of a host
  std::int64_t nproc = 1;                   // ranks on each host
  std::optional<std::int64_t> master_port;  // where the ranks will meet
  std::string member;  // what a doctor that another one started is to look for (doctor::Want as JSON)
};

config::FlagTable doctor_flags(DoctorArguments& a);
DoctorArguments parse_doctor(const std::vector<std::string>& words, const config::Environment& environment);

// What a run with given settings asks of a host.
struct RunHosts {
  int hosts = 1, ranks_per_host = 1;
};

// Folder, interface, ranks, threads and port. Memory and disk where the settings say what is trained, on processors, in a layout
// that is stated; of the host that needs most. ConfigError where such settings do not fit so many ranks.
doctor::Want want_of(const config::Settings& settings, const RunHosts& on, int port);

}  // namespace troika::commands
