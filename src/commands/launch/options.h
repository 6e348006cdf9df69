// The command line of `troika launch` (launch/flags.h), settled.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/resolve.h"
#include "host/nvidia.h"
#include "http/server.h"
#include "launch/flags.h"
#include "launch/launcher.h"
#include "planner/search.h"

namespace troika::commands {

struct LaunchOptions {
  launch::HostOptions hosts;
  int nproc_per_node = 1;
  int max_restarts = 0;
  double join_seconds = 120;      // as the flags or the worker's settings say
  double heartbeat_seconds = 10;  // of the worker's settings
  std::string log_folder;
  std::string run_folder;  // of a worker `train`; "": there is none
  launch::Bind bind = launch::Bind::automatic;
  std::vector<host::NvidiaNeighbours> gpus;  // of this host's ranks, where each computes on one and the machine tells
  int stated_threads = 0;                    // train.threads of the worker's settings; 0: none
  std::string program;                       // "": this program; else another one, for tests
  std::vector<std::string>
      worker;  // the verb and its arguments, with --lang where the environment has another language
  launch::Speaker speaker;
  std::optional<http::ServerOptions> metrics;  // where host 0 serves those of the run
  std::string on_event;                        // the run's log.on_event
  std::optional<config::Resolved> training;    // of a worker `train` that computes on the processor
  std::optional<planner::Fixed> open_layout;  // parallel.layout auto: what is stated; `training` is in some layout then
  bool orders_on_input = false;               // launch --hosts has started this launcher
  std::vector<base::Text> notes;               // flags that were accepted and ignored
};

// The flags, then the environment; what is wrong goes to `reading`.
launch::LaunchFlags read_launch_flags(const std::vector<std::string>& arguments,
                                      const std::map<std::string, std::string>& environment,
                                      config::FlagReading* reading);

// The result. Defaults < environment (NPROC_PER_NODE or NUM_GPUS, NNODES or NUM_NODES, NODE_RANK MASTER_ADDR MASTER_PORT;
// the nodes of a step of SLURM) < arguments.
// When the worker is `train`, `eval` or `bench step`, its settings are parsed too: their errors are told once, here, and
// the run's folder and comm.join_seconds are taken from them. Throws one ConfigError with all that is wrong.
LaunchOptions settle_launch(const launch::LaunchFlags& f, config::FlagReading reading,
                            const std::map<std::string, std::string>& environment, base::Language language);

// Whether `train` is to start the ranks itself: FORCE_TORCHRUN is true or NNODES (NUM_NODES) above 1, and no launcher has
// left a rank in the environment. Throws ConfigError as identify does.
bool launches_itself(const std::map<std::string, std::string>& environment);
// The arguments of launch for it: the ranks that the environment says, else one for each NVIDIA device, else one.
std::vector<std::string> implied_launch(const std::vector<std::string>& worker,
                                        const std::map<std::string, std::string>& environment);

}  // namespace troika::commands
