// What a launch looks at by itself while its ranks start.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "commands/launch/options.h"
#include "doctor/host_view.h"

namespace troika::commands {

// Looks at this host from a thread of its own and says what would stop the run or slow it, a line each on standard error; nothing of a
// healthy host. Ends when that is done, well below a second. A fault of the check itself is nobody's matter.
class LaunchCheck {
 public:
  LaunchCheck(doctor::Want want, std::map<std::string, std::string> environment);
  ~LaunchCheck();
  LaunchCheck(const LaunchCheck&) = delete;
  LaunchCheck& operator=(const LaunchCheck&) = delete;

 private:
  std::thread thread_;
};

// Of a launch that trains; null for another.
std::unique_ptr<LaunchCheck> check_beside(const LaunchOptions& options,
                                          const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
