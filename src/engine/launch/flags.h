// The flags of `troika launch` as they are given: torchrun's names, then what each rank runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/flag_table.h"
#include "launch/binding.h"
#include "launch/host_flags.h"

namespace troika::launch {

struct LaunchFlags {
  std::string nproc_per_node;  // a number, cpu, gpu or auto; empty: 1
  HostFlags hosts;
  std::int64_t max_restarts = 0;
  std::string log_folder;
  Bind bind = Bind::automatic;
  std::optional<std::int64_t> metrics_port;
  std::string metrics_address = "127.0.0.1";
  std::string by_ssh;          // the hosts to start on (ssh/hosts.h); empty: this one
  std::string remote_program;  // troika there; empty: the path it has here
  std::string remote_folder;   // the run's there; empty: the same as here
  bool orders_on_input = false;
  std::string program;  // another one than this, for tests
  std::vector<std::string> worker;
};

config::FlagTable launch_flags(LaunchFlags& f);

// An environment without what says which ranks a launcher starts, or which of them this process is: for runs that another program
// starts with flags of its own.
config::Environment without_launch(config::Environment environment);

}  // namespace troika::launch
