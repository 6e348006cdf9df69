// `troika serve`: a page to see runs, compare them, start, stop and resume them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Prints the address and serves until a signal asks to stop. Runs outlive it. 0. ConfigError: malformed arguments, no such folder,
// the port is taken.
int run_serve(const Call& call);

// The command line of `troika serve`.
struct ServeArguments {
  std::string folder = "runs";
  std::int64_t port = 8400;
  std::string host = "127.0.0.1";
  std::string root = ".";
  bool view_only = false;
  bool url = false;
  std::vector<std::string> allow_host;
  bool behind_proxy = false;
  std::string base_path;
};

config::FlagTable serve_flags(ServeArguments& a);
ServeArguments parse_serve_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
