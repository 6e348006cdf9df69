#include "commands/launch/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "commands/doctor/doctor.h"
#include "commands/cli.h"
#include "commands/launch/options.h"
#include "commands/verbs.h"
#include "data/source_shape.h"
#include "tokenizer/tokenizer.h"
#include "exporters/event_command.h"
#include "exporters/openmetrics.h"
#include "host/cores.h"
#include "host/memory.h"
#include "host/process.h"
#include "host/subprocess.h"
#include "launch/host_store.h"
#include "launch/hosts.h"
#include "launch/launch_records.h"
#include "launch/starter.h"
#include "planner/open_layout.h"
#include "rendezvous/socket.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/gatherer.h"

namespace troika::commands {
using Environment = std::map<std::string, std::string>;
using rendezvous::Identity;

namespace {

// The command for the other hosts, where a person starts them, and who else could join.
void say_how_to_join(const LaunchOptions& options) {
  if (options.hosts.nnodes == 1 || options.hosts.node_rank != 0 || options.orders_on_input) return;
  const launch::Speaker& speaker = options.speaker;
  if (const auto note = launch::note_about_strangers(options.hosts)) speaker.say(*note);
  if (options.hosts.numbered_by_cluster) return;
  const bool itself = !options.hosts.secret.empty() && options.hosts.secret_file.empty();
  const auto scope =
      options.hosts.master_address.find('%');  // the interface of a link-local address is each host's own
  const bool local = scope != std::string::npos;
  const std::string address = options.hosts.master_address.substr(0, scope) + (local ? "%INTERFACE" : "");
  std::vector<std::string> worker;
  for (const std::string& word : options.program.empty() ? options.worker : with_secrets_hidden(options.worker))
    worker.push_back(host::shell_word(word));
  const int nnodes = options.hosts.nnodes;
  const std::string command = fmt::format(
      "{}troika launch --nnodes {} --node-rank {} --nproc-per-node {} --master-addr {} --master-port {}{} -- {}",
      itself ? "TROIKA_SECRET=... " : "", nnodes, nnodes == 2 ? "1" : "K", options.nproc_per_node,
      host::shell_word(address), options.hosts.master_port,
      options.hosts.secret_file.empty() ? "" : " --secret-file " + host::shell_word(options.hosts.secret_file),
      base::join(worker, " "));
  speaker.say(nnodes == 2 ? base::say("on host 1: {}", command)
                          : base::say("on hosts K = 1 to {}: {}", nnodes - 1, command));
  if (local) speaker.say(base::say("INTERFACE is that host's own interface to this network; `ip link` lists them"));
  if (itself) speaker.say(base::say("... is this host's TROIKA_SECRET, which is not printed"));
}

launch::HostTeam team_of(const LaunchOptions& options) {
  launch::HostTeam team;
  team.nnodes = options.hosts.nnodes;
  team.node_rank = options.hosts.node_rank;
  team.speaker = options.speaker;
  team.flags = fmt::format("--nnodes {} --nproc-per-node {} --max-restarts {}", options.hosts.nnodes,
                           options.nproc_per_node, options.max_restarts);
  team.join_seconds = options.join_seconds;
  team.heartbeat_seconds = options.heartbeat_seconds;
  return team;
}

// What is wrong with the data the ranks tell.
planner::SampleLength length_of_samples(const config::DataSettings& data) {
  try {
    const bool full = data.train.empty() || data::record_bytes(data.train, data) == 0;
    return full ? planner::SampleLength::full : planner::SampleLength::unknown;
  } catch (const base::Error&) {
    return planner::SampleLength::full;
  }
}

// A training that this host has not the memory for ends here, before a rank starts.
void refuse_what_does_not_fit(const LaunchOptions& options) {
  const std::int64_t available = host::available_bytes();
  if (!options.training || available < 0) return;
  const int ranks = options.nproc_per_node;
  const planner::HostRanks here{options.hosts.node_rank * ranks, ranks, available, options.hosts.nnodes};
  const auto vocabulary = tokenizer::vocabulary_here(options.training->settings);
  const planner::SampleLength length = length_of_samples(options.training->settings.data);
  if (options.open_layout)
    return planner::check_before_choice(*options.training, *options.open_layout, here, vocabulary, length);
  planner::check_before_start(*options.training, here, vocabulary, length);
}

std::vector<host::WorkerPlan> plan_workers(const LaunchOptions& options, const Identity& identity,
                                           const Environment& environment) {
  std::vector<host::WorkerPlan> plans;
  const int usable = host::usable_cores(), ranks = options.nproc_per_node;
  std::vector<std::vector<int>> near;
  for (const host::NvidiaNeighbours& gpu : options.gpus) near.push_back(gpu.cores);
  const std::vector<launch::Share> shares =
      launch::share_cores(host::allowed_cores(), usable, ranks, options.bind, near);
  // Ranks of one host meet at its loopback.
  const std::string& master = options.hosts.nnodes == 1 ? identity.master_address : options.hosts.master_address;
  for (int local = 0; local < ranks; ++local) {
    host::WorkerPlan plan;
    plan.world_rank = options.hosts.node_rank * options.nproc_per_node + local;
    plan.program = options.program.empty() ? host::running_program() : options.program;
    plan.arguments = {options.program.empty() ? "troika" : options.program};
    plan.arguments.insert(plan.arguments.end(), options.worker.begin(), options.worker.end());
    plan.environment = environment;
    const std::string port = std::to_string(identity.store_port);
    const Environment ours = {{"RANK", std::to_string(plan.world_rank)},
                              {"WORLD_SIZE", std::to_string(identity.world_size)},
                              {"LOCAL_RANK", std::to_string(local)},
                              {"LOCAL_WORLD_SIZE", std::to_string(options.nproc_per_node)},
                              {"GROUP_RANK", std::to_string(options.hosts.node_rank)},
                              {"MASTER_ADDR", master},
                              {"MASTER_PORT", port},
                              {"TROIKA_STORE", rendezvous::endpoint_text(master, identity.store_port)},
                              {"TROIKA_GENERATION", identity.generation},
                              {"TROIKA_LAUNCH", identity.launch},
                              {"TROIKA_SECRET", identity.secret}};
    for (const auto& [name, value] : ours) plan.environment[name] = value;
    plan.environment.erase("TROIKA_SECRET_FILE");
    const launch::Share& share = shares[static_cast<std::size_t>(local)];
    launch::set_thread_variables(share, usable, ranks, options.stated_threads, plan.environment);
    plan.cores = share.cores;
    if (!options.gpus.empty()) plan.environment.insert({"CUDA_DEVICE_ORDER", "PCI_BUS_ID"});  // as options.gpus counts
    if (plan.world_rank > 0 && !options.log_folder.empty())
      plan.log_path = fmt::format("{}/rank-{:05}.log", options.log_folder, plan.world_rank);
    plans.push_back(std::move(plan));
  }
  return plans;
}

void announce(const LaunchOptions& options, const std::vector<host::WorkerPlan>& plans) {
  for (std::size_t local = 0; local < options.gpus.size(); ++local)
    options.speaker.say(base::say("rank {}: {}", plans[local].world_rank, host::describe(options.gpus[local])));
  const auto logged =
      std::find_if(plans.begin(), plans.end(), [](const host::WorkerPlan& plan) { return !plan.log_path.empty(); });
  if (logged == plans.end()) return;
  const bool of_run = !options.run_folder.empty() && options.log_folder == options.run_folder + "/logs";
  if (of_run && base::is_link(options.log_folder))
    throw base::ConfigError(
        base::say("'{}' is a link, and links inside a run folder are not followed: remove it", options.log_folder));
  base::make_directories(options.log_folder);
  if (options.hosts.node_rank > 0)
    options.speaker.say(base::say("rank {} writes to {}", logged->world_rank, logged->log_path));
}

// A host that does not come back for a restart makes it a failure like another.
std::optional<Identity> meet(launch::Hosts& hosts, const LaunchOptions& options, launch::Outcome* failure) {
  try {
    return hosts.meet();
  } catch (const base::PeerError& error) {
    if (options.hosts.node_rank > 0 || hosts.attempt() == 0) throw;
    failure->exit_code = error.exit_code();
    failure->failure = records::told(base::text_of(error), error.cause());
    options.speaker.say(base::text_of(error));
    return std::nullopt;
  }
}

// A doctor is there to tell of hosts that fail, and is done within a minute.
launch::Grace grace_of(const LaunchOptions& options) {
  return !options.worker.empty() && options.worker.front() == "doctor" ? launch::Grace{60, 62} : launch::Grace{};
}

// The services of host 0 for all during an attempt, and until the other hosts have heard of its end.
struct Watches {
  std::unique_ptr<rendezvous::Gatherer> gatherer;  // null: no run's folder
  std::unique_ptr<rendezvous::FailureMonitor> ranks;
  std::unique_ptr<rendezvous::LauncherWatch> launchers;
};

launch::Outcome attempt_once(const LaunchOptions& options, launch::Hosts& hosts, const Environment& environment,
                             host::Signals& signals, Watches& watches, launch::LaunchRecords& records) {
  launch::Outcome failure;
  const std::optional<Identity> identity = meet(hosts, options, &failure);
  if (!identity) return failure;
  refuse_what_does_not_fit(options);
  records.attempt_begins(
      static_cast<int>(hosts.attempt()), identity->launch,
      base::say("{} on {}, {} of them on {}", base::counted_text(identity->world_size, "rank"),
                base::counted_text(options.hosts.nnodes, "host"), options.nproc_per_node, base::host_name()));
  if (options.hosts.node_rank == 0) {
    if (!records.folder().empty())
      watches.gatherer = std::make_unique<rendezvous::Gatherer>(*identity, records.folder(), records.claimed());
    watches.ranks = std::make_unique<rendezvous::FailureMonitor>(*identity);
    watches.launchers = std::make_unique<rendezvous::LauncherWatch>(
        *identity, options.heartbeat_seconds,
        [speaker = options.speaker](const records::Incident& notice) { speaker.say(said(notice)); });
  }
  const auto plans = plan_workers(options, *identity, environment);
  announce(options, plans);
  return launch::run_attempt(plans, *identity, options.heartbeat_seconds, signals, records, options.speaker,
                             grace_of(options));
}

bool worth_another(const launch::Outcome& outcome) {
  const bool the_same_again = outcome.exit_code == 2 || outcome.exit_code == 3;  // settings, data
  const bool asked_to_stop = outcome.stop_requested || outcome.exit_code == base::exit_interrupted;
  return outcome.exit_code != 0 && !the_same_again && !asked_to_stop;
}

// Attempt after attempt, until one ends well or there is no restart left.
class Attempts {
 public:
  Attempts(const LaunchOptions& options, launch::Hosts& hosts, host::Signals& signals, launch::LaunchRecords& records)
      : options_(options), hosts_(hosts), signals_(signals), records_(records) {}

  // The exit code of this host, or nothing: it takes part in another attempt, which may begin.
  std::optional<int> settle(const launch::Outcome& outcome, double attempt_seconds) {
    std::fputs(outcome.details.in(options_.speaker.language).c_str(), stderr);
    restarts_ = std::max(restarts_, static_cast<int>(hosts_.attempt()));
    const bool wanted = worth_another(outcome) && restarts_ < options_.max_restarts;
    const launch::Hosts::Next next =
        hosts_.part(wanted ? launch::Hosts::Next::another : launch::Hosts::Next::end, outcome);
    if (outcome.stop_requested || next == launch::Hosts::Next::end || (next == launch::Hosts::Next::lost && !wanted))
      return outcome.exit_code;
    ++restarts_;
    const base::Text which = base::say("restart {} of {}", restarts_, options_.max_restarts);
    if (next == launch::Hosts::Next::lost) {
      options_.speaker.say(base::say("{} when host 0 is back, within {:g} s", which, options_.join_seconds));
      hosts_.find_again();
    } else if (options_.hosts.node_rank == 0) {
      const double pause = pause_.after(attempt_seconds);
      options_.speaker.say(base::say("{} in {:g} s", which, pause));
      records_.said(records::EventKind::restart, which);
      launch::wait_or_stop(signals_, pause);
    } else {
      options_.speaker.say(which);
    }
    return std::nullopt;
  }

 private:
  const LaunchOptions& options_;
  launch::Hosts& hosts_;
  host::Signals& signals_;
  launch::LaunchRecords& records_;
  int restarts_ = 0;
  launch::RestartPause pause_;
};

// Returns what the launch ends with; code 0 or 130: no failure.
rendezvous::FailureReport run_attempts(const LaunchOptions& options, launch::Hosts& hosts, const Environment& environment,
                    host::Signals& signals, launch::LaunchRecords& records) {
  Attempts attempts(options, hosts, signals, records);
  for (;;) {
    const double began = base::monotonic_seconds();
    Watches watches;
    const launch::Outcome outcome = attempt_once(options, hosts, environment, signals, watches, records);
    const auto code = attempts.settle(outcome, base::monotonic_seconds() - began);
    if (code) return {*code, outcome.failure.value_or(records::Incident{})};
  }
}

// On host 0, where the records of all ranks are.
std::unique_ptr<exporters::MetricsServer> serve_metrics(const LaunchOptions& options) {
  if (!options.metrics || options.run_folder.empty() || options.hosts.node_rank != 0) return nullptr;
  auto server = std::make_unique<exporters::MetricsServer>(options.run_folder, *options.metrics);
  options.speaker.say(base::say("metrics of the run are at {}", server->url()));
  return server;
}

// The events that the launcher of host 0 sees: failures and restarts. Rank 0 has the rest.
exporters::EventCommand event_command(const LaunchOptions& options, const Environment& environment) {
  return {options.hosts.node_rank == 0 ? options.on_event : "", options.run_folder, environment};
}

// Once the records of all hosts are there. Another run's are not this launch's to explain.
std::string explain(const launch::LaunchRecords& records, const launch::Speaker& speaker) {
  return records.claimed()() ? explain_failure(records.folder(), speaker) : "";
}

}  // namespace

static rendezvous::FailureReport launch(const LaunchOptions& options, const Environment& environment, launch::LaunchRecords& records) {
  if (const int cores = host::usable_cores();
      options.bind == launch::Bind::automatic && options.nproc_per_node > cores) {
    options.speaker.say(base::say("{} ranks share {}, so no rank is bound to its own cores", options.nproc_per_node,
                                  base::counted_text(cores, "core")));
  }
  host::Signals signals(
      launch::first_user_signal(environment));  // before any thread starts, so that all of them block the same
  std::optional<launch::Orders> orders;
  if (options.orders_on_input) orders.emplace(options.speaker);
  const std::unique_ptr<exporters::MetricsServer> metrics = serve_metrics(options);
  const launch::HostStore store = launch::open_host_store(options.hosts, options.nproc_per_node);
  launch::check_own_address(options.hosts, store.identity, options.join_seconds, signals, options.speaker);
  say_how_to_join(options);
  const launch::ServiceManager manager = launch::service_manager(environment);
  manager.tell("READY=1\nSTATUS=waiting for all ranks");
  const launch::ServiceStatus status(manager, records.folder());
  const std::unique_ptr<LaunchCheck> check = check_beside(options, environment, base::language_of("auto", base::locale_in(environment)));
  launch::Hosts hosts(team_of(options), store.identity, signals);
  try {
    return run_attempts(options, hosts, environment, signals, records);
  } catch (const launch::Stopped&) {
    hosts.leave(base::exit_interrupted, base::say("stopped by a signal to its launcher"));
    throw;
  } catch (const base::Error& error) {
    hosts.leave(error.exit_code(), base::text_of(error));
    throw;
  }
}

// Reports an error that occurs before this launcher meets those of the other hosts, which wait for it.
static int end_unstarted(const launch::HostOptions& hosts, const base::Error& error, const launch::Speaker& speaker,
                         const Environment& environment) {
  std::fprintf(stderr, "troika: %s\n", error.in(speaker.language).c_str());
  leave_last_words({error.exit_code(), base::text_of(error), error.cause()}, environment, speaker.language);
  launch::tell_not_started(hosts, error, speaker);
  return error.exit_code();
}

int run_launch(const std::vector<std::string>& arguments, const Environment& given, base::Language language) {
  config::FlagReading reading;
  const launch::LaunchFlags flags = read_launch_flags(arguments, given, &reading);
  if (!flags.by_ssh.empty()) {
    reading.finish();
    return spread_launch(flags, given, language);
  }
  Environment environment = given;
  if (flags.orders_on_input) {
    environment["TROIKA_SECRET"] = launch::read_secret();
    environment.erase("TROIKA_SECRET_FILE");
  }
  LaunchOptions options;
  try {
    options = settle_launch(flags, std::move(reading), environment, language);
  } catch (const base::Error& error) {
    config::FlagReading of_hosts;
    const launch::HostOptions hosts = launch::settle_hosts(flags.hosts, environment, &of_hosts);
    if (!of_hosts.errors.empty() || hosts.nnodes == 1) throw;
    return end_unstarted(hosts, error, {"troika launch", language}, environment);
  }
  for (const base::Text& note : options.notes) options.speaker.say(note);
  exporters::EventCommands commands(event_command(options, environment),
                                    [speaker = options.speaker](const base::Text& note) { speaker.say(note); });
  launch::LaunchRecords records(options.run_folder, options.hosts.node_rank,
                                [&commands](const records::Event& event) { commands.tell(event); });
  try {
    const rendezvous::FailureReport ending = launch(options, environment, records);
    records.flush();
    if (ending.exit_code == 0 || ending.exit_code == base::exit_interrupted) return ending.exit_code;
    const std::string explanation = options.hosts.node_rank == 0 ? explain(records, options.speaker) : "";
    leave_last_words(ending, environment, language, explanation);
    return ending.exit_code;
  } catch (const launch::Stopped&) {
    return base::exit_interrupted;
  } catch (const base::Error& error) {
    records.failed({error.exit_code(), base::text_of(error), error.cause()});
    records.flush();
    explain(records, options.speaker);
    throw;
  }
}

}  // namespace troika::commands
