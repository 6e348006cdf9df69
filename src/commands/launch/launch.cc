#include "commands/launch/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "commands/launch/attempt.h"
#include "commands/launch/binding.h"
#include "commands/launch/hosts.h"
#include "commands/launch/options.h"
#include "commands/launch/restart_pause.h"
#include "commands/launch/say.h"
#include "commands/shell_word.h"
#include "host/cores.h"
#include "host/memory.h"
#include "planner/preflight.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/launcher_watch.h"
#include "rendezvous/store.h"

namespace troika::commands {
using Environment = std::map<std::string, std::string>;
using rendezvous::Identity;
using rendezvous::StoreServer;

namespace {

std::unique_ptr<StoreServer> serve_on(int port, const LaunchOptions& options, const std::string& launch_id) {
  const auto reach = options.nnodes > 1 ? rendezvous::Reach::networks : rendezvous::Reach::this_host;
  return std::make_unique<StoreServer>(port, reach, rendezvous::Access{launch_id, options.secret},
                                       rendezvous::StoreLimits::of(options.nnodes * options.nproc_per_node));
}

// A port that was asked for, or on one host the next free one of ten, or any.
std::unique_ptr<StoreServer> serve(const LaunchOptions& options, const std::string& launch_id) {
  if (options.nnodes > 1 || options.port_is_given) return serve_on(options.master_port, options, launch_id);
  for (int port = options.master_port; port < options.master_port + 10; ++port) {
    try {
      return serve_on(port, options, launch_id);
    } catch (const base::ConfigError&) {  // taken
    }
  }
  return serve_on(0, options, launch_id);
}

// What is typed on the other hosts, and who else could join.
void say_how_to_join(const LaunchOptions& options) {
  if (options.nnodes == 1 || options.node_rank != 0) return;
  const bool itself = !options.secret.empty() && options.secret_file.empty();
  std::vector<std::string> worker;
  for (const std::string& word : options.worker) worker.push_back(shell_word(word));
  launcher_says(fmt::format(
      "on {}: {}troika launch --nnodes {} --node-rank {} --nproc-per-node {} --master-addr {} "
      "--master-port {}{} -- {}",
      options.nnodes == 2 ? "host 1" : fmt::format("hosts K = 1 to {}", options.nnodes - 1),
      itself ? fmt::format("TROIKA_SECRET={} ", shell_word(options.secret)) : "", options.nnodes,
      options.nnodes == 2 ? "1" : "K", options.nproc_per_node, shell_word(options.master_address), options.master_port,
      options.secret_file.empty() ? "" : " --secret-file " + shell_word(options.secret_file), base::join(worker, " ")));
  if (options.secret.empty())
    launcher_says(
        fmt::format("note: who reaches port {} can join this run; on a network with strangers give every host the same "
                    "--secret-file",
                    options.master_port));
}

// Of this launch and no other.
std::string new_launch_id() {
  std::string id;
  for (const char byte : rendezvous::new_nonce()) id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return id;
}

// `launch_id`: "" on hosts that hear it from host 0's store.
Identity identity_of(const LaunchOptions& options, const std::string& launch_id, int port) {
  Identity identity;
  identity.world_size = options.nnodes * options.nproc_per_node;
  identity.master_address = options.node_rank == 0 ? "127.0.0.1" : options.master_address;
  identity.store_port = port;
  identity.node_rank = options.node_rank;
  identity.launch = launch_id;
  identity.secret = options.secret;
  return identity;
}

// A training that this host has not the memory for ends here, before a rank starts.
void refuse_what_does_not_fit(const LaunchOptions& options) {
  const std::int64_t available = host::available_bytes();
  if (!options.training || available < 0) return;
  const int ranks = options.nproc_per_node;
  const planner::HostRanks here{options.node_rank * ranks, ranks, available, options.nnodes};
  if (options.open_layout) return planner::check_before_choice(*options.training, *options.open_layout, here);
  planner::check_before_start(*options.training, here);
}

std::vector<WorkerPlan> plan_workers(const LaunchOptions& options, const Identity& identity,
                                     const Environment& environment) {
  std::vector<WorkerPlan> plans;
  const int usable = host::usable_cores(), ranks = options.nproc_per_node;
  std::vector<std::vector<int>> near;
  for (const host::NvidiaNeighbours& gpu : options.gpus) near.push_back(gpu.cores);
  const std::vector<Share> shares = share_cores(host::allowed_cores(), usable, ranks, options.bind, near);
  for (int local = 0; local < ranks; ++local) {
    WorkerPlan plan;
    plan.world_rank = options.node_rank * options.nproc_per_node + local;
    plan.program = options.program.empty() ? "/proc/self/exe" : options.program;
    plan.arguments = {options.program.empty() ? "troika" : options.program};
    plan.arguments.insert(plan.arguments.end(), options.worker.begin(), options.worker.end());
    plan.environment = environment;
    const std::string port = std::to_string(identity.store_port);
    const Environment ours = {{"RANK", std::to_string(plan.world_rank)},
                              {"WORLD_SIZE", std::to_string(identity.world_size)},
                              {"LOCAL_RANK", std::to_string(local)},
                              {"LOCAL_WORLD_SIZE", std::to_string(options.nproc_per_node)},
                              {"GROUP_RANK", std::to_string(options.node_rank)},
                              {"MASTER_ADDR", options.master_address},
                              {"MASTER_PORT", port},
                              {"TROIKA_STORE", options.master_address + ":" + port},
                              {"TROIKA_GENERATION", identity.generation},
                              {"TROIKA_LAUNCH", identity.launch},
                              {"TROIKA_SECRET", identity.secret}};
    for (const auto& [name, value] : ours) plan.environment[name] = value;
    plan.environment.erase("TROIKA_SECRET_FILE");
    const Share& share = shares[static_cast<std::size_t>(local)];
    set_thread_variables(share, usable, ranks, options.stated_threads, plan.environment);
    plan.cores = share.cores;
    plan.environment.insert({"GLOG_minloglevel", "2"});
    if (!options.gpus.empty()) plan.environment.insert({"CUDA_DEVICE_ORDER", "PCI_BUS_ID"});  // as options.gpus counts
    if (plan.world_rank > 0 && !options.log_folder.empty())
      plan.log_path = fmt::format("{}/rank-{:05}.log", options.log_folder, plan.world_rank);
    plans.push_back(std::move(plan));
  }
  return plans;
}

void announce(const LaunchOptions& options, const std::vector<WorkerPlan>& plans) {
  for (std::size_t local = 0; local < options.gpus.size(); ++local)
    launcher_says(host::describe(plans[local].world_rank, options.gpus[local]));
  const auto logged =
      std::find_if(plans.begin(), plans.end(), [](const WorkerPlan& plan) { return !plan.log_path.empty(); });
  if (logged == plans.end()) return;
  base::make_directories(options.log_folder);
  if (options.node_rank > 0) launcher_says(fmt::format("rank {} writes to {}", logged->world_rank, logged->log_path));
}

// A host that does not come back for a restart makes it a failure like another.
std::optional<Identity> meet(Hosts& hosts, const LaunchOptions& options, Outcome* failure) {
  try {
    return hosts.meet();
  } catch (const base::PeerError& error) {
    if (options.node_rank > 0 || hosts.attempt() == 0) throw;
    launcher_says(error.what());
    failure->exit_code = error.exit_code();
    failure->text = error.what();
    return std::nullopt;
  }
}

// What host 0 does for all during an attempt, and until the other hosts have heard of its end.
struct Watches {
  std::unique_ptr<rendezvous::FailureMonitor> ranks;
  std::unique_ptr<rendezvous::LauncherWatch> launchers;
};

Outcome attempt_once(const LaunchOptions& options, Hosts& hosts, const Environment& environment, Signals& signals,
                     Watches& watches) {
  Outcome failure;
  const std::optional<Identity> identity = meet(hosts, options, &failure);
  if (!identity) return failure;
  refuse_what_does_not_fit(options);
  if (options.node_rank == 0) {
    watches.ranks = std::make_unique<rendezvous::FailureMonitor>(*identity);
    watches.launchers =
        std::make_unique<rendezvous::LauncherWatch>(*identity, options.heartbeat_seconds, launcher_says);
  }
  const auto plans = plan_workers(options, *identity, environment);
  announce(options, plans);
  return run_attempt(plans, *identity, options.heartbeat_seconds, signals);
}

bool worth_another(const Outcome& outcome) {
  const bool the_same_again = outcome.exit_code == 2 || outcome.exit_code == 3;  // settings, data
  const bool asked_to_stop = outcome.stop_requested || outcome.exit_code == base::exit_interrupted;
  return outcome.exit_code != 0 && !the_same_again && !asked_to_stop;
}

// Attempt after attempt, until one ends well or there is no restart left.
class Attempts {
 public:
  Attempts(const LaunchOptions& options, Hosts& hosts, Signals& signals)
      : options_(options), hosts_(hosts), signals_(signals) {}

  // What this host returns, or nothing: it takes part in another attempt, which may begin.
  std::optional<int> settle(const Outcome& outcome, double attempt_seconds) {
    std::fputs(outcome.details.c_str(), stderr);
    restarts_ = std::max(restarts_, static_cast<int>(hosts_.attempt()));
    const bool wanted = worth_another(outcome) && restarts_ < options_.max_restarts;
    const Hosts::Next next = hosts_.part(wanted ? Hosts::Next::another : Hosts::Next::end, outcome);
    if (outcome.stop_requested || next == Hosts::Next::end || (next == Hosts::Next::lost && !wanted))
      return outcome.exit_code;
    ++restarts_;
    const std::string which = fmt::format("restart {} of {}", restarts_, options_.max_restarts);
    if (next == Hosts::Next::lost) {
      launcher_says(fmt::format("{} when host 0 is there again, within {:g} s", which, options_.join_seconds));
      hosts_.find_again();
    } else if (options_.node_rank == 0) {
      const double pause = pause_.after(attempt_seconds);
      launcher_says(fmt::format("{} in {:g} s", which, pause));
      wait_or_stop(signals_, pause);
    } else {
      launcher_says(which);
    }
    return std::nullopt;
  }

 private:
  const LaunchOptions& options_;
  Hosts& hosts_;
  Signals& signals_;
  int restarts_ = 0;
  RestartPause pause_;
};

int run_attempts(const LaunchOptions& options, Hosts& hosts, const Environment& environment, Signals& signals) {
  Attempts attempts(options, hosts, signals);
  for (;;) {
    const double began = base::monotonic_seconds();
    Watches watches;
    const Outcome outcome = attempt_once(options, hosts, environment, signals, watches);
    const auto code = attempts.settle(outcome, base::monotonic_seconds() - began);
    if (code) return *code;
  }
}

}  // namespace

static int launch(const LaunchOptions& options, const Environment& environment) {
  if (const int cores = host::usable_cores(); options.bind == Bind::automatic && options.nproc_per_node > cores) {
    launcher_says(
        fmt::format("{} ranks share {} cores, so none is bound to cores of its own", options.nproc_per_node, cores));
  }
  Signals signals;  // before any thread starts, so that all of them block the same
  const std::string launch_id = options.node_rank == 0 ? new_launch_id() : "";
  const std::unique_ptr<StoreServer> server = options.node_rank == 0 ? serve(options, launch_id) : nullptr;
  say_how_to_join(options);
  Hosts hosts(options, identity_of(options, launch_id, server != nullptr ? server->port() : options.master_port),
              signals);
  try {
    return run_attempts(options, hosts, environment, signals);
  } catch (const Stopped&) {
    hosts.leave(base::exit_interrupted, "stopped by a signal to its launcher");
    throw;
  } catch (const base::Error& error) {
    hosts.leave(error.exit_code(), error.what());
    throw;
  }
}

int run_launch(const std::vector<std::string>& arguments, const Environment& environment) {
  const LaunchOptions options = parse_launch(arguments, environment);
  for (const std::string& note : options.notes) launcher_says(note);
  try {
    return launch(options, environment);
  } catch (const Stopped&) {
    return base::exit_interrupted;
  }
}

}  // namespace troika::commands
