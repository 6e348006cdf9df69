#include "commands/sweep/arguments.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::commands {

config::FlagTable sweep_flags(SweepArguments& a) {
  config::FlagTable table("troika sweep");
  table.usage("CONFIG --nproc N [--steps 5] [--best K] [--deadline SECONDS] [--out DIR] [settings of train]");
  table.usage(
      "CONFIG --nproc N --nnodes H --node-rank K --master-addr HOST --cluster FILE ... on every host, K from 0");
  table.add("nproc", a.nproc, "Processes on each host that each layout is run on.")
      .familiar({"nproc-per-node"})
      .range(1, 4096)
      .required();
  table.add("best", a.best, "Run only the K layouts that the plan finds fastest.").range(1, 1e6).unset("all that fit");
  table.add("deadline", a.deadline_seconds, "A layout that takes longer is ended, and the sweep continues.")
      .unit("seconds")
      .range(std::numeric_limits<double>::min(), 1e7)
      .unset("20 times what is predicted, at least 60");
  table
      .add("cluster", a.cluster,
           "The machines that the plan computes with, as `troika probe` writes them; host 0 reads it.")
      .shown("FILE")
      .unset("this machine, as it was probed, else by a profile");
  launch::add_host_flags(table, a.host_flags);
  table.add("dry-run", a.dry_run, "Only list the layouts, with what is predicted of them.").alone();
  table.add("program", a.program, "Start this program for the ranks instead of troika itself.")
      .shown("FILE")
      .unset("troika");
  table.settings({"train.steps", "train.out", "parallel.dp", "parallel.pp", "parallel.tp", "parallel.cp",
                  "parallel.zero", "batch.micro_batch_size", "batch.global_batch_size"});
  table.paragraph(
      "Trains every layout that fits for a few steps, each in processes of its own, and writes DIR/summary.csv, plots\n"
      "and a page. --steps is 5 and --out runs/sweep unless stated here; what CONFIG says of them is for the training\n"
      "itself. What the command line states of a layout (--tp 1, --zero 1) is kept, the rest is tried. The same "
      "command\n"
      "again resumes where it was. docs/formats/sweep.md has the columns.");
  table.paragraph(
      "Several hosts: the same command on each with its --node-rank. The hosts meet at --master-port, the ranks of a "
      "layout\n"
      "at the port behind it. `troika launch --nnodes ... -- probe --out cluster.yaml` on the same hosts writes what "
      "--cluster\n"
      "reads.");
  return table;
}

std::int64_t SweepArguments::steps() const { return parsed.states("train.steps") ? parsed.settings.train.steps : 5; }

std::string SweepArguments::folder() const {
  const std::string all =
      parsed.states("train.out") ? base::without_end_slashes(parsed.settings.train.out) : "runs/sweep";
  return hosts.leads() ? all : fmt::format("{}/host-{}", all, hosts.node_rank);
}

static void check_hosts(const SweepArguments& a) {
  if (a.hosts.nnodes == 1) return;
  if (a.cluster.empty())
    throw base::ConfigError(base::say(
        "--nnodes is {} but --cluster is not given: `troika launch --nnodes {} ... -- probe --out cluster.yaml` on "
        "these hosts measures them and writes the file on host 0",
        a.hosts.nnodes, a.hosts.nnodes));
  if (a.hosts.master_port == 65535)
    throw base::ConfigError(base::say("--master-port is 65535 but the ranks of a layout meet at the port behind it: use 65534"));
}

SweepArguments parse_sweep(const std::vector<std::string>& words, const config::Environment& environment) {
  SweepArguments a;
  a.parsed = config::parse_settings(words, environment, sweep_flags(a));
  config::FlagReading reading;
  a.hosts = launch::settle_hosts(a.host_flags, environment, &reading);
  reading.finish();
  check_hosts(a);
  if (a.steps() < 2)
    throw base::ConfigError(base::say(
        "--steps is {}, but a sweep needs at least 2: the first step, which is slower, does not count", a.steps()));
  return a;
}

}  // namespace troika::commands
