// One command after the other in processes of their own, which a stop request of the caller reaches.
#pragma once

#include <signal.h>

#include <map>
#include <string>
#include <vector>

namespace troika::commands {

// While it lives SIGINT and SIGTERM end the command under way and no other; that command decides how (a training saves). For a
// process with one thread.
class Stages {
 public:
  // `program`: the path of troika.
  Stages(std::string program, std::map<std::string, std::string> environment);
  ~Stages();
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  // Runs `troika words...` on this terminal. Returns its exit code, 128 + n where signal n ended it, and 130 where a stop was asked
  // for, however the command took it. It ends when this process does. ConfigError where it cannot be started.
  int run(const std::vector<std::string>& words);

 private:
  const std::string program_;
  const std::map<std::string, std::string> environment_;
  sigset_t waited_, before_;
};

}  // namespace troika::commands
