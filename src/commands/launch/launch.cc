#include "commands/launch/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "commands/launch/attempt.h"
#include "commands/launch/binding.h"
#include "commands/launch/options.h"
#include "host/cores.h"
#include "host/memory.h"
#include "plan/preflight.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/store.h"

namespace troika::commands {
using Environment = std::map<std::string, std::string>;
using rendezvous::Identity;
using rendezvous::StoreClient;
using rendezvous::StoreServer;

namespace {

struct Stopped {};  // thrown when a signal ends the waiting for other hosts

void stop_if_asked(Signals& signals) {
  for (int signal = signals.wait(0); signal != 0; signal = signals.wait(0)) {
    if (signal != SIGCHLD) throw Stopped();
  }
}

void say(const std::string& text) { std::fprintf(stderr, "troika launch: %s\n", text.c_str()); }

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

// A word as a shell takes it.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_-./:=,+@%", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What is typed on the other hosts, and who else could join.
void say_how_to_join(const LaunchOptions& options) {
  if (options.nnodes == 1 || options.node_rank != 0) return;
  const bool itself = !options.secret.empty() && options.secret_file.empty();
  std::vector<std::string> worker;
  for (const std::string& word : options.worker) worker.push_back(quoted(word));
  say(fmt::format(
      "on {}: {}troika launch --nnodes {} --node-rank {} --nproc-per-node {} --master-addr {} "
      "--master-port {}{} -- {}",
      options.nnodes == 2 ? "host 1" : fmt::format("hosts K = 1 to {}", options.nnodes - 1),
      itself ? fmt::format("TROIKA_SECRET={} ", quoted(options.secret)) : "", options.nnodes,
      options.nnodes == 2 ? "1" : "K", options.nproc_per_node, quoted(options.master_address), options.master_port,
      options.secret_file.empty() ? "" : " --secret-file " + quoted(options.secret_file), base::join(worker, " ")));
  if (options.secret.empty())
    say(
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
Identity identity_of(const LaunchOptions& options, const std::string& launch_id, int port, int attempt) {
  Identity identity;
  identity.world_size = options.nnodes * options.nproc_per_node;
  identity.master_address = options.node_rank == 0 ? "127.0.0.1" : options.master_address;
  identity.store_port = port;
  identity.generation = std::to_string(attempt);
  identity.launch = launch_id;
  identity.secret = options.secret;
  return identity;
}

std::string host_key(const std::string& what, int node) { return fmt::format("{}/{:06}", what, node); }

// Like StoreClient's constructor, but a signal ends it.
std::unique_ptr<StoreClient> connect(const LaunchOptions& options, const Identity& identity, Signals& signals) {
  const double until = base::monotonic_seconds() + options.join_seconds;
  rendezvous::Access access = rendezvous::access_of(identity);
  if (identity.launch.empty()) access.launch.reset();
  for (;;) {
    stop_if_asked(signals);
    const double left = until - base::monotonic_seconds();
    try {
      return std::make_unique<StoreClient>(identity.master_address, identity.store_port, std::clamp(left, 0.1, 1.5),
                                           access);
    } catch (const base::PeerError&) {
      if (left > 0) continue;
      throw base::PeerError(
          fmt::format("host 0 did not answer at {}:{} within {:g} s: start troika launch there with --node-rank 0, and "
                      "see that the port is open",
                      identity.master_address, identity.store_port, options.join_seconds));
    }
  }
}

// get() of a key that another host writes; false when it is late.
bool hear_from(StoreClient& store, const Identity& identity, const std::string& name, double until, Signals& signals,
               std::string* value) {
  while (!store.try_get(rendezvous::key_of(identity, name), value)) {
    stop_if_asked(signals);
    rendezvous::FailureReport report;
    if (rendezvous::read_failure_report(store, identity, &report)) throw base::PeerError(report.text);
    if (base::monotonic_seconds() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

// The store goes with host 0 and must outlive the ranks of all hosts that came; one that is lost is not waited for long.
void part(const LaunchOptions& options, const Identity& identity, StoreClient& store, double patience_seconds) {
  if (options.nnodes == 1) return;
  try {
    store.set_deadline(patience_seconds / 2);
    store.set(rendezvous::key_of(identity, host_key("host-ended", options.node_rank)), "ended");
    const double until = base::monotonic_seconds() + patience_seconds;
    while (options.node_rank == 0 && base::monotonic_seconds() < until) {
      const auto ended = store.keys(rendezvous::key_of(identity, "host-ended/")).size();
      if (ended >= store.keys(rendezvous::key_of(identity, "host/")).size()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  } catch (const base::Error&) {  // host 0 did not wait
  }
}

// What all hosts must have been launched with.
std::string common_flags(const LaunchOptions& options) {
  return fmt::format("--nnodes {} --nproc-per-node {} --max-restarts {}", options.nnodes, options.nproc_per_node,
                     options.max_restarts);
}

void register_host(const LaunchOptions& options, const Identity& identity, StoreClient& store) {
  if (options.nnodes == 1) return;
  // The time tells two launchers apart.
  const std::string mine = fmt::format("{}\n{:.6f}", common_flags(options), base::wall_seconds());
  if (store.compare_set(rendezvous::key_of(identity, host_key("host", options.node_rank)), "", mine) != mine) {
    throw base::ConfigError(
        fmt::format("another launcher has --node-rank {} already: give each host its own", options.node_rank));
  }
}

// Waits until every host's launcher is there with the same flags.
void await_hosts(const LaunchOptions& options, const Identity& identity, StoreClient& store, Signals& signals) {
  if (options.nnodes == 1) return;
  const std::string flags = common_flags(options);
  const double until = base::monotonic_seconds() + options.join_seconds;
  std::vector<std::string> missing;
  for (int node = 0; node < options.nnodes; ++node) {
    std::string theirs;
    if (!hear_from(store, identity, host_key("host", node), until, signals, &theirs)) {
      missing.push_back(fmt::format("host {}", node));
    } else if (theirs.substr(0, theirs.find('\n')) != flags) {
      throw base::ConfigError(
          fmt::format("host {} was launched with {} but host {} with {}: use the same flags on every host", node,
                      theirs.substr(0, theirs.find('\n')), options.node_rank, flags));
    }
  }
  if (missing.empty()) return;
  const std::string text = fmt::format(
      "{} did not come within {:g} s: start troika launch there with its --node-rank and the same "
      "--master-addr and --master-port",
      base::join(missing, ", "), options.join_seconds);
  rendezvous::write_failure_report(store, identity, {75, text});
  throw base::PeerError(text);
}

// A training that this host has not the memory for ends here, before a rank starts, on the other hosts too.
void refuse_what_does_not_fit(const LaunchOptions& options, const Identity& identity, StoreClient& store) {
  const std::int64_t available = host::available_bytes();
  if (!options.training || available < 0) return;
  const int ranks = options.nproc_per_node;
  try {
    plan::check_before_start(*options.training, {options.node_rank * ranks, ranks, available});
  } catch (const base::Error& error) {
    if (options.nnodes > 1) {
      const std::string text = fmt::format("host {}: {}", options.node_rank, error.what());
      try {
        rendezvous::write_failure_report(store, identity, {error.exit_code(), text});
      } catch (const base::Error&) {  // the other hosts have ended; this host's own cause counts here
      }
    }
    throw;
  }
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
    say(host::describe(plans[local].world_rank, options.gpus[local]));
  const auto logged =
      std::find_if(plans.begin(), plans.end(), [](const WorkerPlan& plan) { return !plan.log_path.empty(); });
  if (logged == plans.end()) return;
  base::make_directories(options.log_folder);
  if (options.node_rank > 0) say(fmt::format("rank {} writes to {}", logged->world_rank, logged->log_path));
}

Outcome attempt_once(const LaunchOptions& options, Identity identity, const Environment& environment,
                     Signals& signals) {
  const auto store = connect(options, identity, signals);
  identity.launch = store->launch();
  store->set_deadline(10);
  constexpr double patience_after_an_error = 4;
  register_host(options, identity, *store);
  try {
    await_hosts(options, identity, *store, signals);
    refuse_what_does_not_fit(options, identity, *store);
  } catch (const base::Error&) {
    part(options, identity, *store, patience_after_an_error);
    throw;
  }
  std::unique_ptr<rendezvous::FailureMonitor> failure_monitor;
  if (options.node_rank == 0) failure_monitor = std::make_unique<rendezvous::FailureMonitor>(identity);
  const auto plans = plan_workers(options, identity, environment);
  announce(options, plans);
  const Outcome outcome = run_attempt(plans, identity, std::max(options.heartbeat_seconds, 10.0), signals);
  part(options, identity, *store, outcome.text.empty() ? 15 : patience_after_an_error);
  return outcome;
}

bool worth_another(const Outcome& outcome) {
  const bool the_same_again = outcome.exit_code == 2 || outcome.exit_code == 3;  // settings, data
  const bool asked_to_stop = outcome.stop_requested || outcome.exit_code == base::exit_interrupted;
  return outcome.exit_code != 0 && !the_same_again && !asked_to_stop;
}

}  // namespace

static int launch(const LaunchOptions& options, const Environment& environment) {
  if (const int cores = host::usable_cores(); options.bind == Bind::automatic && options.nproc_per_node > cores) {
    say(fmt::format("{} ranks share {} cores, so none is bound to cores of its own", options.nproc_per_node, cores));
  }
  Signals signals;  // before any thread starts, so that all of them block the same
  const std::string launch_id = options.node_rank == 0 ? new_launch_id() : "";
  const std::unique_ptr<StoreServer> server = options.node_rank == 0 ? serve(options, launch_id) : nullptr;
  const int port = server != nullptr ? server->port() : options.master_port;
  say_how_to_join(options);
  for (int attempt = 0;; ++attempt) {
    const Outcome outcome = attempt_once(options, identity_of(options, launch_id, port, attempt), environment, signals);
    if (!outcome.text.empty()) say(outcome.text);
    if (!worth_another(outcome) || attempt == options.max_restarts) return outcome.exit_code;
    say(fmt::format("restart {} of {}", attempt + 1, options.max_restarts));
  }
}

int run_launch(const std::vector<std::string>& arguments, const Environment& environment) {
  const LaunchOptions options = parse_launch(arguments, environment);
  for (const std::string& note : options.notes) say(note);
  try {
    return launch(options, environment);
  } catch (const Stopped&) {
    return base::exit_interrupted;
  }
}

}  // namespace troika::commands
