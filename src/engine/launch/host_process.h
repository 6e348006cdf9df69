// A process that this one talks to over pipes: ssh to another host, or what runs on this one in its place.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/subprocess.h"

namespace troika::launch {

// In a process group of its own, so that Ctrl-C in the terminal reaches only this process, with no signal blocked or ignored. Threads:
// one.
class HostProcess {
 public:
  enum class Output { inherited, read };  // where its output and complaints go

  // words[0]: a path, or a name that PATH has. ConfigError when it cannot be started.
  HostProcess(std::vector<std::string> words, const std::map<std::string, std::string>& environment, Output output);
  // Ends its input; what has not ended soon after is killed.
  ~HostProcess();
  HostProcess(HostProcess&& other) noexcept = default;
  HostProcess& operator=(HostProcess&&) = delete;

  // A line for its input. What does not read has room for 64 KiB; more, and what is told after its end, is dropped.
  void tell(const std::string& line);
  void end_input();

  // To poll; -1: inherited, or at its end.
  int output() { return process_.output().number(); }
  int complaints() { return process_.errors().number(); }
  std::string read_output();  // what is there, at most 64 KiB; "" and output() is -1: it has ended
  void end_output();
  void read_complaints();
  std::string complaint() const;  // the last line, fit for a terminal

  // Its exit code, or 128 and the signal, once it has ended.
  std::optional<int> end(double within_seconds = 0);
  void kill();

 private:
  host::Subprocess process_;
  std::string complaints_;  // the end of them
};

}  // namespace troika::launch
