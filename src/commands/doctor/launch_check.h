// What a launch looks at by itself while its ranks start.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>

#include "commands/launch/options.h"
#include "doctor/host_view.h"

namespace troika::commands {

// Looks at this host from a thread of its own and says what would stop the run or slow it, a line each on standard error; nothing of a
// healthy host. That takes well below a second; a disk that does not answer is not waited for. A fault of the check itself is nobody's matter.
class LaunchCheck {
 public:
  // Whether ranks meet by the names of hosts, or by addresses alone.
  enum class Names { matter, are_not_used };
  LaunchCheck(doctor::Want want, Names names, std::map<std::string, std::string> environment);
  ~LaunchCheck();  // waits 2 s at most
  LaunchCheck(const LaunchCheck&) = delete;
  LaunchCheck& operator=(const LaunchCheck&) = delete;

 private:
  std::future<void> done_;
};

// Of a launch that trains; null for another.
std::unique_ptr<LaunchCheck> check_beside(const LaunchOptions& options,
                                          const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
