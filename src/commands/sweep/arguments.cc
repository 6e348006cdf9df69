#include "commands/sweep/arguments.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/file.h"

namespace troika::commands {

config::FlagTable sweep_flags(SweepArguments& a) {
  config::FlagTable table("troika sweep");
  table.usage("CONFIG --nproc N [--steps 5] [--best K] [--deadline SECONDS] [--out DIR] [settings of train]");
  table.add("nproc", a.nproc, "Processes of this host that each layout is run on.")
      .familiar({"nproc-per-node"})
      .range(1, 4096)
      .required();
  table.add("best", a.best, "Run only the K layouts that the plan finds fastest.").range(1, 1e6).unset("all that fit");
  table.add("deadline", a.deadline_seconds, "A layout that takes longer is ended, and the sweep continues.")
      .unit("seconds")
      .range(std::numeric_limits<double>::min(), 1e7)
      .unset("20 times what is predicted, at least 60");
  table.add("cluster", a.cluster, "The machine that the plan computes with, as `troika probe` writes it.")
      .shown("FILE")
      .unset("this machine, as it was probed, else by a profile");
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
  return table;
}

std::int64_t SweepArguments::steps() const { return parsed.states("train.steps") ? parsed.settings.train.steps : 5; }

std::string SweepArguments::folder() const {
  return parsed.states("train.out") ? base::without_end_slashes(parsed.settings.train.out) : "runs/sweep";
}

SweepArguments parse_sweep(const std::vector<std::string>& words, const config::Environment& environment) {
  SweepArguments a;
  a.parsed = config::parse_settings(words, environment, sweep_flags(a));
  if (a.steps() < 2)
    throw base::ConfigError(fmt::format(
        "--steps is {}, but a sweep needs at least 2: the first step, which is slower, does not count", a.steps()));
  return a;
}

}  // namespace troika::commands
