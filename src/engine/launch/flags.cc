#include "launch/flags.h"

namespace troika::launch {
namespace {

void add_run_flags(config::FlagTable& table, LaunchFlags& f) {
  table.add("max-restarts", f.max_restarts, "Start all ranks again after a failure, this many times.")
      .variables({"PET_MAX_RESTARTS"})
      .range(0, 1000);
  table.add("log-dir", f.log_folder, "Folder for the output of ranks other than 0.").shown("DIR").unset("OUT/logs");
  table.add(
      "bind", f.bind,
      "auto: each rank runs on cores of its own, neighbours, when there are as many cores as ranks; none: anywhere.");
  table
      .add("metrics-port", f.metrics_port,
           "Serve the run's metrics for Prometheus, at /metrics of this port on host 0; 0: any free one.")
      .range(0, 65535)
      .unset("not served");
  table
      .add("metrics-address", f.metrics_address,
           "Address of this host that --metrics-port listens on; there is no login.")
      .shown("ADDRESS");
  table.add("program", f.program, "Start this program instead of troika itself.").shown("FILE").unset("troika");
}

void add_ssh_flags(config::FlagTable& table, LaunchFlags& f) {
  table
      .add("hosts", f.by_ssh,
           "Start the launchers of these hosts by ssh, the first is host 0: [user@]host[:port] with commas between, or "
           "a file with a line for each.")
      .familiar({"hostfile"})
      .shown("A,B,C|FILE")
      .unset("this host alone");
  table.add("remote-program", f.remote_program, "Where troika is on those hosts.").shown("FILE").unset("as here");
  table.add("remote-folder", f.remote_folder, "The folder that the run starts in on those hosts.")
      .shown("DIR")
      .unset("as here");
  table.add("orders-on-input", f.orders_on_input, "Internal: how --hosts starts a launcher on a host.")
      .alone();
}

void ignore_torchruns_flags(config::FlagTable& table) {
  for (const char* name : {"rdzv-id", "rdzv-backend", "rdzv-conf", "local-addr"})
    table.ignore(name, "ranks meet at the store of host 0");
  for (const char* name : {"redirects", "tee", "local-ranks-filter", "logs-specs"})
    table.ignore(name, "the output of ranks other than 0 goes to --log-dir");
  for (const char* name : {"monitor-interval", "start-method", "role"})
    table.ignore(name, "it has no effect on how ranks are started and watched here");
}

}  // namespace

config::FlagTable launch_flags(LaunchFlags& f) {
  config::FlagTable table("troika launch");
  table.usage("[flags] -- VERB [arguments of each rank]");
  table.usage("--hosts A,B,C|FILE [flags] -- VERB ...   on all of these hosts, by ssh");
  table.hint("Flags of the training go behind `-- train`.");
  table.add("nproc-per-node", f.nproc_per_node, "Ranks on this host: a number, cpu, gpu or auto.")
      .variables({"NPROC_PER_NODE", "PET_NPROC_PER_NODE", "NUM_GPUS"})
      .shown("N|cpu|gpu|auto")
      .unset("1");
  add_host_flags(table, f.hosts);
  add_ssh_flags(table, f);
  add_run_flags(table, f);
  ignore_torchruns_flags(table);
  table.rest("VERB ...", f.worker,
             "What each rank runs: train, eval, bench or probe with their arguments. `--` may be left out.");
  return table;
}

config::Environment without_launch(config::Environment environment) {
  LaunchFlags scratch;
  const config::FlagTable flags = launch_flags(scratch);
  for (const config::FlagRow& row : flags.rows())
    for (const std::string_view name : row.flag->variables) environment.erase(std::string(name));
  for (const char* name : {"FORCE_TORCHRUN", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "SLURM_STEP_ID",
                           "SLURM_NODEID", "TROIKA_STORE", "TROIKA_GENERATION", "TROIKA_LAUNCH"})
    environment.erase(name);
  return environment;
}

}  // namespace troika::launch
