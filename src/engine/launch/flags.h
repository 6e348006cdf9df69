// The flags of `troika launch`, torchrun's names, and those of them that `troika sweep` shares: which hosts take part and where they meet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "config/flag_table.h"

namespace troika::launch {

// The cores each rank of this host has, and the number of threads it starts.
enum class Bind { automatic, none };
constexpr config::Words<2> words_of(Bind) { return {"auto", "none"}; }

struct Share {
  std::vector<int> cores;  // empty: the system may put the rank anywhere
  int threads = 1;
};

// One share per rank. `allowed` are the cores of the host, ascending, `usable` how many of them can work at a time. Bound to
// neighbouring cores, none of which has two ranks, when that was not declined, there are several ranks, and cores enough.
// `near`: of ranks with a GPU each, the cores next to it, or empty; where all are known, allowed and enough, ranks with equal
// ones share those, and a single rank is bound too.
std::vector<Share> share_cores(const std::vector<int>& allowed, int usable, int ranks, Bind bind,
                               const std::vector<std::vector<int>>& near = {});

// OMP_NUM_THREADS of a rank's share, where `environment` has none; and when all ranks together have more threads than there
// are usable cores, threads that wait for work sleep. `stated_threads` of train.threads; 0: none stated.
void set_thread_variables(const Share& share, int usable, int ranks, int stated_threads,
                          std::map<std::string, std::string>& environment);

// As they are given.
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
                   const base::Text& words = {});

struct LaunchFlags {
  std::string nproc_per_node;  // a number, cpu, gpu or auto; empty: 1
  HostFlags hosts;
  std::int64_t max_restarts = 0;
  std::string log_folder;
  Bind bind = Bind::automatic;
  std::optional<std::int64_t> metrics_port;
  std::string metrics_address = "127.0.0.1";
  std::string by_ssh;          // the hosts to start on (ssh_hosts.h); empty: this one
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
