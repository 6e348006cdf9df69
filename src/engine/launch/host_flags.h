// Which hosts take part and where they meet: the flags that `troika launch` and `troika sweep` share, and what they come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/flag_table.h"

namespace troika::launch {

// As they are given: torchrun's names.
struct HostFlags {
  std::string nnodes;  // a number; empty: 1
  std::optional<std::int64_t> node_rank, master_port;
  std::string master_address, endpoint, secret_file;
  std::optional<double> join_seconds;
  bool standalone = false;
};

void add_host_flags(config::FlagTable& table, HostFlags& f);

struct HostOptions {
  int nnodes = 1;
  int node_rank = 0;
  std::string master_address = "127.0.0.1";
  int master_port = 29500;
  bool numbered_by_cluster = false;      // which starts the other hosts' launchers as well
  bool port_is_given = false;            // else, on one host, any free port will do
  std::optional<double> join_seconds{};  // unset: comm.join_seconds
  std::string secret{};                  // of the store; "": none
  std::string secret_file{};             // where it was read; "": it was given itself

  bool leads() const { return node_rank == 0; }
};

// `f` with its variables read, then what a step of SLURM says, then RANK as a pod's number, then defaults. What is wrong goes to `reading`.
HostOptions settle_hosts(HostFlags f, const config::Environment& environment, config::FlagReading* reading);

// A count given as text, from 1 to `most`; empty: 1.
int positive_count(const std::string& flag, const std::string& text, int most, config::FlagReading* reading,
                   std::string_view words = "");

}  // namespace troika::launch
