// The checks of a launch while its ranks start.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>

#include "base/language.h"
#include "commands/launch/options.h"
#include "doctor/host_view.h"

namespace troika::commands {

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

// Of a launch that trains; null for another.
std::unique_ptr<LaunchCheck> check_beside(const LaunchOptions& options,
                                          const std::map<std::string, std::string>& environment,
                                          base::Language language);

}  // namespace troika::commands
