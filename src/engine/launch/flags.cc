#include "launch/flags.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "rendezvous/identity.h"
#include "rendezvous/socket.h"
#include "rendezvous/variables.h"

namespace troika::launch {
namespace {

void add_run_flags(config::FlagTable& table, LaunchFlags& f) {
  table.add("max-restarts", f.max_restarts, "Restart all ranks after a failure, up to this many times.")
      .variables({"PET_MAX_RESTARTS"})
      .range(0, 1000);
  table.add("log-dir", f.log_folder, "Folder for the output of ranks other than 0.").shown("DIR").unset("OUT/logs");
  table.add(
      "bind", f.bind,
      "auto: pin each rank to its own adjacent cores, if there are as many cores as ranks; none: no pinning.");
  table
      .add("metrics-port", f.metrics_port,
           "Serve the run's metrics for Prometheus, at /metrics on this port of host 0; 0: any free port.")
      .range(0, 65535)
      .unset("not served");
  table
      .add("metrics-address", f.metrics_address,
           "Address of this host that --metrics-port listens on; without authentication.")
      .shown("ADDRESS");
  table.add("program", f.program, "Start this program instead of troika itself.").shown("FILE").unset("troika");
}

void add_ssh_flags(config::FlagTable& table, LaunchFlags& f) {
  table
      .add("hosts", f.by_ssh,
           "Start the launchers of these hosts over ssh, the first is host 0: [user@]host[:port], comma-separated, or a file with one per line.")
      .familiar({"hostfile"})
      .shown("A,B,C|FILE")
      .unset("only this host");
  table.add("remote-program", f.remote_program, "Path of troika on those hosts.").shown("FILE").unset("same as here");
  table.add("remote-folder", f.remote_folder, "The working directory of the run on those hosts.")
      .shown("DIR")
      .unset("same as here");
  table.add("orders-on-input", f.orders_on_input, "Internal: how --hosts starts a launcher on a host.").alone();
}

void ignore_torchruns_flags(config::FlagTable& table) {
  for (const char* name : {"rdzv-id", "rdzv-backend", "rdzv-conf", "local-addr"})
    table.ignore(name, "ranks meet at the store of host 0");
  for (const char* name : {"redirects", "tee", "local-ranks-filter", "logs-specs"})
    table.ignore(name, "the output of ranks other than 0 goes to --log-dir");
  for (const char* name : {"monitor-interval", "start-method", "role"})
    table.ignore(name, "it has no effect on how ranks are started and monitored here");
}

}  // namespace

config::FlagTable launch_flags(LaunchFlags& f) {
  config::FlagTable table("troika launch");
  table.usage("[flags] -- VERB [arguments of each rank]");
  table.usage("--hosts A,B,C|FILE [flags] -- VERB ...   on all these hosts, via ssh");
  table.hint("Flags of the training go after `-- train`.");
  table.add("nproc-per-node", f.nproc_per_node, "Ranks on this host: a number, cpu, gpu or auto.")
      .variables({"NPROC_PER_NODE", "PET_NPROC_PER_NODE", "NUM_GPUS"})
      .shown("N|cpu|gpu|auto")
      .unset("1");
  add_host_flags(table, f.hosts);
  add_ssh_flags(table, f);
  add_run_flags(table, f);
  ignore_torchruns_flags(table);
  table.rest("VERB ...", f.worker,
             "What each rank runs: train, eval, bench or probe with their arguments. `--` is optional.");
  return table;
}

config::Environment without_launch(config::Environment environment) {
  LaunchFlags scratch;
  const config::FlagTable flags = launch_flags(scratch);
  for (const config::FlagRow& row : flags.rows())
    for (const std::string_view name : row.flag->variables) environment.erase(std::string(name));
  for (const char* name : {"FORCE_TORCHRUN", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                           "SLURM_STEP_ID", "SLURM_NODEID", "TROIKA_STORE", "TROIKA_GENERATION", "TROIKA_LAUNCH"})
    environment.erase(name);
  return environment;
}

using config::Environment;
using config::FlagReading;

namespace {

// --rdzv-endpoint, or --master-addr, which may hold a port and brackets too.
void split_endpoint(HostFlags* f, FlagReading* reading) {
  const bool is_endpoint = !f->endpoint.empty();
  const std::string text = is_endpoint ? f->endpoint : f->master_address;
  if (text.empty() || f->standalone) return;
  try {
    const rendezvous::Endpoint end =
        rendezvous::parse_endpoint(is_endpoint ? "--rdzv-endpoint" : "--master-addr", text);
    f->master_address = end.address;
    if (!end.port) return;
    if (!is_endpoint && f->master_port && *f->master_port != *end.port)
      reading->refuse(base::say("--master-addr is '{}' but --master-port is {}: give one port", text, *f->master_port));
    f->master_port = *end.port;
  } catch (const base::ConfigError& error) {
    reading->refuse(base::text_of(error));
  }
}

// A step of SLURM with a launcher on each of its nodes numbers them and says where they meet.
void ask_slurm(HostFlags* f, const Environment& environment, FlagReading* reading) {
  if (f->standalone) return;
  std::optional<rendezvous::SlurmStep> step;
  try {
    step = rendezvous::slurm_step(environment);
  } catch (const base::ConfigError& error) {
    return reading->refuse(base::text_of(error));
  }
  if (!step) return;
  if (step->tasks != step->nodes)
    return reading->refuse(
        base::say("srun starts {} launchers on {}: start one per host (srun --ntasks-per-node=1 troika launch --nproc-per-node N ...), or the ranks themselves (srun troika train ...)",
                  step->tasks, base::counted_text(step->nodes, "node")));
  if (f->nnodes.empty()) f->nnodes = std::to_string(step->nodes);
  if (!f->node_rank) f->node_rank = step->node;
  if (step->nodes == 1 || !f->endpoint.empty()) return;
  if (f->master_address.empty()) f->master_address = step->first_node;
  if (!f->master_port) f->master_port = step->port();
}

// Where a cluster numbers pods or hosts with RANK and WORLD_SIZE, no launcher has set LOCAL_RANK.
void ask_pod(HostFlags* f, const Environment& environment, FlagReading* reading) {
  const auto rank = environment.find("RANK"), size = environment.find("WORLD_SIZE");
  if (f->node_rank || f->standalone || f->master_address.empty() || environment.count("LOCAL_RANK") > 0) return;
  std::int64_t node = 0;
  if (rank == environment.end() || size == environment.end() || !base::parse_int(rank->second, &node)) return;
  f->node_rank = node;
  if (f->nnodes.empty()) f->nnodes = size->second;
  reading->notes.push_back(
      base::say("RANK is set without LOCAL_RANK: this is host {} of {}", node, f->nnodes));
}

int count_hosts(const HostFlags& f, FlagReading* reading) {
  if (f.standalone) return 1;
  const auto colon = f.nnodes.find(':');
  if (colon != std::string::npos && f.nnodes.substr(0, colon) != f.nnodes.substr(colon + 1)) {
    reading->refuse(
        base::say("--nnodes is '{}' but a range of hosts is not supported; give one number (in a PyTorchJob without "
                  "elasticPolicy)",
                  f.nnodes));
    return 1;
  }
  return positive_count("--nnodes", f.nnodes.substr(0, colon), 65536, reading);
}

void check_hosts(const HostFlags& f, const HostOptions& options, FlagReading* reading) {
  if (options.nnodes > 1 && f.master_address.empty()) {
    reading->refuse(base::say("--nnodes is {} but --master-addr is not given: every host needs the address of host 0",
                              options.nnodes));
  }
  if (options.nnodes > 1 && !f.node_rank) {
    reading->refuse(base::say("--nnodes is {} but --node-rank is not given: hosts are numbered from 0 to {}",
                              options.nnodes, options.nnodes - 1));
  }
  if (options.node_rank >= options.nnodes) {
    reading->refuse(
        base::say("--node-rank is {} but must be below --nnodes, which is {}", options.node_rank, options.nnodes));
  }
}

void read_secret(const HostFlags& f, Environment environment, HostOptions* options, FlagReading* reading) {
  try {
    if (!f.secret_file.empty()) environment["TROIKA_SECRET_FILE"] = options->secret_file = f.secret_file;
    options->secret = rendezvous::secret_of(environment);
    if (const auto note = rendezvous::note_about_secret_file(environment)) reading->notes.push_back(*note);
  } catch (const base::ConfigError& error) {
    reading->refuse(base::text_of(error));
  }
}

}  // namespace

void add_host_flags(config::FlagTable& table, HostFlags& f) {
  table.add("nnodes", f.nnodes, "Hosts of the run.")
      .variables({"NNODES", "PET_NNODES", "NUM_NODES"})
      .shown("N")
      .unset("1; in a SLURM step, its nodes");
  table.add("node-rank", f.node_rank, "Index of this host, from 0.")
      .variables({"NODE_RANK", "PET_NODE_RANK"})
      .range(0, 65535)
      .unset("0; in a SLURM step, its node");
  table.add("standalone", f.standalone, "One host; nothing else is needed.").alone();
  table.add("master-addr", f.master_address, "Address at which the other hosts reach host 0.")
      .variables({"MASTER_ADDR", "PET_MASTER_ADDR"})
      .shown("HOST")
      .unset("127.0.0.1; in a SLURM step, its first node");
  table.add("master-port", f.master_port, "Port of the store on host 0.")
      .variables({"MASTER_PORT", "PET_MASTER_PORT"})
      .range(1, 65535)
      .unset("29500; on one host, any free port; in a SLURM step, derived from its id");
  table.add("rdzv-endpoint", f.endpoint, "Same as --master-addr and --master-port.")
      .shown("HOST[:PORT]")
      .unset("none");
  table
      .add("secret-file", f.secret_file,
           "A file with a secret of at least 16 characters, the same on all hosts: a process without it cannot join. TROIKA_SECRET in the environment sets the secret itself.")
      .variables({"TROIKA_SECRET_FILE"})
      .shown("FILE")
      .unset("none: any process that reaches the port can join");
  table.add("join-timeout", f.join_seconds, "How long to wait for all hosts.")
      .unit("seconds")
      .range(std::numeric_limits<double>::min(), 1e7)
      .unset("comm.join_seconds");
}

HostOptions settle_hosts(HostFlags f, const Environment& environment, FlagReading* reading) {
  const bool given = f.node_rank.has_value();
  ask_slurm(&f, environment, reading);
  ask_pod(&f, environment, reading);
  split_endpoint(&f, reading);
  HostOptions options;
  options.numbered_by_cluster = (f.node_rank && !given) || environment.count("PET_NODE_RANK") > 0 ||
                                environment.count("JOB_COMPLETION_INDEX") > 0;
  options.nnodes = count_hosts(f, reading);
  options.node_rank = static_cast<int>(f.node_rank.value_or(0));
  options.port_is_given = f.master_port.has_value();
  options.master_port = static_cast<int>(f.master_port.value_or(options.master_port));
  if (!f.master_address.empty() && !f.standalone) options.master_address = f.master_address;
  options.join_seconds = f.join_seconds;
  check_hosts(f, options, reading);
  read_secret(f, environment, &options, reading);
  return options;
}

int positive_count(const std::string& flag, const std::string& text, int most, FlagReading* reading,
                   const base::Text& words) {
  std::int64_t value = 1;
  if (!text.empty() && (!base::parse_int(text, &value) || value < 1 || value > most)) {
    reading->refuse(words.empty() ? base::say("{} is '{}' but must be a whole number from 1 to {}", flag, text, most)
                                  : base::say("{} is '{}' but must be a whole number from 1 to {}, or {}", flag, text,
                                              most, words));
    return 1;
  }
  return static_cast<int>(value);
}

namespace {

// The part of `cores` that the number'th of `count` has.
std::vector<int> part_of(const std::vector<int>& cores, std::size_t number, std::size_t count) {
  const auto from = [&](std::size_t i) {
    return cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * i / count);
  };
  return {from(number), from(number + 1)};
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// By rank; empty where they cannot all be bound so.
std::vector<std::vector<int>> cores_near(const std::vector<int>& allowed, const std::vector<std::vector<int>>& near) {
  std::map<std::vector<int>, std::size_t> ranks, seen;
  for (const auto& cores : near) ++ranks[common(allowed, cores)];
  for (const auto& [cores, count] : ranks)
    if (cores.size() < count) return {};
  std::vector<std::vector<int>> own;
  for (const auto& cores : near) {
    const std::vector<int> shared = common(allowed, cores);
    own.push_back(part_of(shared, seen[shared]++, ranks[shared]));
  }
  return own;
}

}  // namespace

std::vector<Share> share_cores(const std::vector<int>& allowed, int usable, int ranks, Bind bind,
                               const std::vector<std::vector<int>>& near) {
  std::vector<Share> shares(static_cast<std::size_t>(ranks));
  const bool enough = bind == Bind::automatic && ranks <= usable && static_cast<std::size_t>(ranks) <= allowed.size();
  const auto own = enough ? cores_near(allowed, near) : std::vector<std::vector<int>>();
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    shares[rank].threads = std::max(1, usable / ranks);
    if (!own.empty()) {
      shares[rank].cores = own[rank];
      shares[rank].threads = std::min(shares[rank].threads, static_cast<int>(own[rank].size()));
    } else if (enough && ranks > 1) {
      shares[rank].cores = part_of(allowed, rank, shares.size());
    }
  }
  return shares;
}

void set_thread_variables(const Share& share, int usable, int ranks, int stated_threads,
                          std::map<std::string, std::string>& environment) {
  environment.insert({"OMP_NUM_THREADS", std::to_string(share.threads)});
  const int threads = stated_threads > 0 ? stated_threads : share.threads;
  // A thread that spins until its next piece of work takes the core from one that has work.
  if (ranks * threads > usable) environment.insert({"OMP_WAIT_POLICY", "passive"});
}

}  // namespace troika::launch
