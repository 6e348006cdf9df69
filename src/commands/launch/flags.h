// The flags of `troika launch` as they are given: torchrun's names, then what each rank runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/launch/binding.h"
#include "config/flag_table.h"

namespace troika::commands {

struct LaunchFlags {
  std::string nproc_per_node;  // a number, cpu, gpu or auto; empty: 1
  std::string nnodes;          // a number; empty: 1
  std::optional<std::int64_t> node_rank, master_port;
  std::string master_address, endpoint, secret_file;
  std::int64_t max_restarts = 0;
  std::optional<double> join_seconds;
  std::string log_folder;
  Bind bind = Bind::automatic;
  bool standalone = false;
  std::string program;  // another one than this, for tests
  std::vector<std::string> worker;
};

config::FlagTable launch_flags(LaunchFlags& f);

}  // namespace troika::commands
