// Runs launchers as processes of their own, with small shell commands in place of troika.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rendezvous/free_port_test_support.h"

namespace troika::commands {

// A launcher under way. Destroying it kills it.
class Launcher {
 public:
  // `script` is what /bin/sh runs as each rank, in a fresh folder that the test can look into.
  Launcher(const std::vector<std::string>& flags, const std::string& script, const std::string& folder,
           const std::map<std::string, std::string>& environment = {});
  // The program `troika` with these words, as a user runs it; programs in `folder`/bin precede those of the system.
  Launcher(const std::vector<std::string>& words, const std::string& folder);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void signal(int number) const;
  void lead_a_group() const;  // like one that a shell started; of a launcher that runs here
  int wait();  // its exit code, or 1000 + the signal that killed it; fails the test after 30 s
  std::string output() const;
  void await_output(const std::string& part) const;  // fails the test after 20 s

 private:
  void start(const std::string& folder, const std::function<int()>& run);

  pid_t pid_ = -1;
  std::string output_path_;
};

// A fresh, empty folder for one test: `name` is its own within the suite.
std::string fresh_folder(const std::string& name);

// Waits until the file holds something; fails the test after 20 s.
std::string await_file(const std::string& path);

// Waits until no such process runs (a zombie does not run); fails the test after 10 s.
void await_end(pid_t pid);

// Waits until a signal has stopped the process; fails the test after 10 s.
void await_stop(pid_t pid);

using rendezvous::free_port;

}  // namespace troika::commands
