// `troika doctor`: what of this host, or of all hosts of a run, would make it fail or slow.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "commands/launch/options.h"
#include "commands/verbs.h"
#include "config/config.h"
#include "config/flag_table.h"
#include "doctor/host_view.h"

namespace troika::commands {

// Prints the report on standard output. Returns 0 when all is well, 2 when something would stop the run, 75 when a host did not answer.
int run_doctor(const Call& call);

// The command line of `troika doctor`.
struct DoctorArguments {
  config::ParsedSettings parsed;
  std::string hosts;    // by ssh (launch/ssh_hosts.h); "": this host, or those of the launch
  std::string program;  // troika on the other hosts; "": the path that it has here
  bool quick = false, json = false;
  double wait_seconds = 12;                 // for the first word of a host
  std::int64_t nproc = 1;                   // ranks on each host
  std::optional<std::int64_t> master_port;  // where the ranks will meet
  std::string member;  // what a doctor that another one started is to look for (doctor::Want as JSON)
};

config::FlagTable doctor_flags(DoctorArguments& a);
DoctorArguments parse_doctor(const std::vector<std::string>& words, const config::Environment& environment);

// The demands of a run with given settings on a host.
struct RunHosts {
  int hosts = 1, ranks_per_host = 1;
};

// Folder, interface, ranks, threads and port. Memory and disk where the settings say what is trained, on processors, in a layout
// that is stated; of the host that needs most. ConfigError where such settings do not fit so many ranks.
doctor::Want want_of(const config::Settings& settings, const RunHosts& on, int port);

// The NVIDIA GPUs of this host as a run would open them.

// Loads the libraries that a run would load, and opens every card: some tenths of a second each. For hosts with a driver.
doctor::Gpus open_gpus();

// The checks of a launch while its ranks start.

// Checks this host in a background thread and prints what would stop the run or slow it, a line each, to standard error; nothing for a
// healthy host. That takes well below a second; it does not wait for a hung disk. Errors of the check itself are ignored.
class LaunchCheck {
 public:
  // Whether ranks meet by the names of hosts, or by addresses alone.
  enum class Names { matter, are_not_used };
  LaunchCheck(doctor::Want want, Names names, std::map<std::string, std::string> environment, base::Language language);
  ~LaunchCheck();  // waits 2 s at most
  LaunchCheck(const LaunchCheck&) = delete;
  LaunchCheck& operator=(const LaunchCheck&) = delete;

 private:
  std::future<void> done_;
};

// The check of a launch that trains; null for another.
std::unique_ptr<LaunchCheck> check_beside(const LaunchOptions& options,
                                          const std::map<std::string, std::string>& environment,
                                          base::Language language);

}  // namespace troika::commands
