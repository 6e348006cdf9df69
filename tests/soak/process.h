// Processes that a soak starts, known by a mark in their environment.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/subprocess.h"

namespace troika::soak {

// False when `ready` was not true within so many seconds. It looks every millisecond.
bool await(double seconds, const std::function<bool()>& ready);

// A started program with its output in a file, to which it appends. Destroying it kills it.
class Process {
 public:
  // words[0] is a path. `variables` are entries NAME=VALUE, beside a PATH.
  Process(const std::vector<std::string>& words, const std::vector<std::string>& variables, const std::string& output);

  pid_t pid() const { return process_.pid(); }
  std::optional<int> ended();  // its exit code, or 1000 + the signal that killed it, once it has ended

 private:
  host::Subprocess process_;
};

// Live processes, zombies left out, whose environment has all of these entries NAME=VALUE.
std::vector<pid_t> processes_with(const std::vector<std::string>& entries);

// Whether it has ended, or is a zombie.
bool has_ended(pid_t pid);

// Whether the process maps a file whose path holds `part`.
bool maps(pid_t pid, const std::string& part);

// What a file holds from a byte on; "" when it is not there.
std::string text_from(const std::string& path, std::size_t from);

}  // namespace troika::soak
