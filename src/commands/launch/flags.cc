#include "commands/launch/flags.h"

#include <limits>

namespace troika::commands {
namespace {

void add_host_flags(config::FlagTable& table, LaunchFlags& f) {
  table.add("nproc-per-node", f.nproc_per_node, "Ranks on this host: a number, cpu, gpu or auto.")
      .variables({"NPROC_PER_NODE", "PET_NPROC_PER_NODE", "NUM_GPUS"})
      .shown("N|cpu|gpu|auto")
      .unset("1");
  table.add("nnodes", f.nnodes, "Hosts of the run.")
      .variables({"NNODES", "PET_NNODES", "NUM_NODES"})
      .shown("N")
      .unset("1");
  table.add("node-rank", f.node_rank, "Which of them this is, from 0.")
      .variables({"NODE_RANK", "PET_NODE_RANK"})
      .range(0, 65535)
      .unset("0; in a step of SLURM its node");
  table.add("standalone", f.standalone, "One host; nothing else is needed.").alone();
}

void add_store_flags(config::FlagTable& table, LaunchFlags& f) {
  table.add("master-addr", f.master_address, "Address of host 0, as the others reach it.")
      .variables({"MASTER_ADDR", "PET_MASTER_ADDR"})
      .shown("HOST")
      .unset("127.0.0.1");
  table.add("master-port", f.master_port, "Port of the store on host 0.")
      .variables({"MASTER_PORT", "PET_MASTER_PORT"})
      .range(1, 65535)
      .unset("29500; on one host any free one");
  table.add("rdzv-endpoint", f.endpoint, "The same as --master-addr and --master-port.")
      .shown("HOST[:PORT]")
      .unset("none");
  table
      .add("secret-file", f.secret_file,
           "A file with a secret of at least 16 characters, the same on all hosts: who does not know it cannot join. "
           "TROIKA_SECRET in the environment is the secret itself.")
      .variables({"TROIKA_SECRET_FILE"})
      .shown("FILE")
      .unset("none: who reaches the port can join");
  table.add("join-timeout", f.join_seconds, "How long to wait for all hosts.")
      .unit("seconds")
      .range(std::numeric_limits<double>::min(), 1e7)
      .unset("comm.join_seconds");
}

void add_run_flags(config::FlagTable& table, LaunchFlags& f) {
  table.add("max-restarts", f.max_restarts, "Start all ranks again after a failure, this many times.").range(0, 1000);
  table.add("log-dir", f.log_folder, "Folder for the output of ranks other than 0.").shown("DIR").unset("OUT/logs");
  table.add(
      "bind", f.bind,
      "auto: each rank runs on cores of its own, neighbours, when there are as many cores as ranks; none: anywhere.");
  table.add("program", f.program, "Start this program instead of troika itself.").shown("FILE").unset("troika");
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
  table.hint("Flags of the training go behind `-- train`.");
  add_host_flags(table, f);
  add_store_flags(table, f);
  add_run_flags(table, f);
  ignore_torchruns_flags(table);
  table.rest("VERB ...", f.worker,
             "What each rank runs: train, eval, bench or probe with their arguments. `--` may be left out.");
  return table;
}

}  // namespace troika::commands
